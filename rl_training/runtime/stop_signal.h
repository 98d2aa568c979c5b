#pragma once
#include <csignal>

namespace rl_training {

// While one of these lives, the first SIGINT or SIGTERM is remembered instead of ending the
// process, so that the loop can write a checkpoint first; a second one ends it at once.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // The signal's number, or 0.
  static int received();

 private:
  struct sigaction previous_interrupt_ {};
  struct sigaction previous_terminate_ {};
};

}  // namespace rl_training
