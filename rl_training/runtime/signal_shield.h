#pragma once
#include <semaphore.h>

#include <thread>

#include "rl_training/util/blocked_signals.h"

namespace rl_training {

// For computations on a thread of a host program: while it lives, asynchronous signals stay away
// from the calling thread, and a small thread with the caller's mask is there in which the host's
// handlers run instead. Neither handlers nor other threads of the host are touched; a signal sent
// to the calling thread alone (pthread_kill) arrives when the shield ends.
class SignalShield {
 public:
  SignalShield();
  ~SignalShield();
  SignalShield(const SignalShield&) = delete;
  SignalShield& operator=(const SignalShield&) = delete;

 private:
  BlockedSignals blocked_;
  sem_t end_;
  std::thread receiver_;
};

}  // namespace rl_training
