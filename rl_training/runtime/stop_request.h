#pragma once
#include <atomic>

namespace rl_training {

// What is asked of a training loop while it runs. The loop looks after each update (online: after
// each step with its updates) and an evaluation after each of its steps. Any thread may ask, and so
// may a signal handler.
class StopRequests {
 public:
  virtual ~StopRequests() = default;

  // Ends training with a checkpoint. The first request counts; `signal` is not 0.
  void request_stop(int signal) {
    int none = 0;
    stop_.compare_exchange_strong(none, signal);
  }
  // The signal for which training is to stop, or 0. A host whose signals have to be asked for (as
  // Python's) does so here: only the thread that trains calls it.
  virtual int stop() const { return stop_.load(); }

  // One more checkpoint; training continues.
  void request_checkpoint() { checkpoint_.store(true); }
  // Whether one was requested since the last call.
  bool take_checkpoint() { return checkpoint_.exchange(false); }

 private:
  std::atomic<int> stop_{0};
  std::atomic<bool> checkpoint_{false};
  static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
                "usable in a signal handler");
};

}  // namespace rl_training
