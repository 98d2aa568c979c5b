#pragma once
#include <atomic>

namespace rl_training {

// Requests to a running training loop. Offline, the loop checks for requests after each update.
// Online, it checks after each environment step and the updates of this step. An evaluation checks
// before each of its steps. Any thread and any signal handler may make requests.
class StopRequests {
 public:
  virtual ~StopRequests() = default;

  // Requests that training writes a checkpoint and ends. Only the first request has an effect.
  // `signal` must not be 0.
  void request_stop(int signal) {
    int none = 0;
    stop_.compare_exchange_strong(none, signal);
  }
  // Returns the signal that requested a stop, or 0. Only the training thread calls this function. A
  // host that must poll for signals, such as Python, can therefore override it.
  virtual int stop() const { return stop_.load(); }

  // Requests an additional checkpoint; training continues.
  void request_checkpoint() { checkpoint_.store(true); }
  // Whether a checkpoint was requested since the last call.
  bool take_checkpoint() { return checkpoint_.exchange(false); }

 private:
  std::atomic<int> stop_{0};
  std::atomic<bool> checkpoint_{false};
  static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
                "usable in a signal handler");
};

}  // namespace rl_training
