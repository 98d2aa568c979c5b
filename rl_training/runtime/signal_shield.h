#pragma once
#include <semaphore.h>

#include <thread>

#include "rl_training/util/blocked_signals.h"

namespace rl_training {

// Protects computations on a thread of a host program from signals. While an object of this class
// exists, asynchronous signals are blocked in the calling thread, and the host's handlers run in a
// small helper thread with the caller's signal mask. The handlers and other threads of the host do
// not change. A signal sent only to the calling thread (pthread_kill) is delivered when the object
// is destroyed.
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
