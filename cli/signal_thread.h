#pragma once
#include <atomic>
#include <thread>

#include "rl_training/runtime/stop_request.h"

namespace rl_training {

// Blocks the signals that SignalThread receives. Called at the start of the process, before there
// are threads (process_start.cpp).
void block_taken_signals();
// Does nothing, but a call to it makes the linker include process_start.cpp from a static library.
void link_process_start();

// A thread that receives SIGINT, SIGTERM, SIGHUP and SIGUSR1. All other threads block these signals
// from the start of the process, so that no signal interrupts a computation. This includes threads
// that shared libraries start before main().
//
// Before training, these signals have their default effect. During training, the first SIGINT or
// SIGTERM requests a stop, and a second one ends the process immediately. SIGHUP and SIGUSR1
// request a checkpoint.
class SignalThread {
 public:
  SignalThread();
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

  // Ends the thread. Signals stay blocked and pending until another thread receives them.
  void end();
  // From this call on, signals become requests to the training loop.
  StopRequests& begin_training();
  // The signal that requested a stop, or 0.
  int stop() const { return requests_.stop(); }

 private:
  void take_signals();
  void take(int signal);

  StopRequests requests_;
  std::atomic<bool> training_{false}, ending_{false};
  std::thread thread_;
};

}  // namespace rl_training
