#pragma once
#include <atomic>
#include <thread>

#include "rl_training/runtime/stop_request.h"

namespace rl_training {

// For the beginning of the process, before there are threads (process_start.cpp).
void block_taken_signals();
// Does nothing; a program that calls it gets what process_start.cpp does, although that is in a
// static library.
void link_process_start();

// The one thread of the program that takes SIGINT, SIGTERM, SIGHUP and SIGUSR1. All others have
// them blocked from the beginning of the process, those included that shared libraries start before
// main(), so that no signal interrupts a computation.
//
// They end the program as they would by default, until a command trains: from then on the first
// SIGINT or SIGTERM asks training to stop, a second one ends the process at once, and SIGHUP and
// SIGUSR1 ask for a checkpoint.
class SignalThread {
 public:
  SignalThread();
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

  // Ends the thread: signals stay blocked and wait for the next one that takes them.
  void end();
  // Signals become requests.
  StopRequests& begin_training();
  // The signal that asked training to stop, or 0.
  int stop() const { return requests_.stop(); }

 private:
  void take_signals();
  void take(int signal);

  StopRequests requests_;
  std::atomic<bool> training_{false}, ending_{false};
  std::thread thread_;
};

}  // namespace rl_training
