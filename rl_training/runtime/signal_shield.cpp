#include "rl_training/runtime/signal_shield.h"

#include <pthread.h>

namespace rl_training {

SignalShield::SignalShield() {
  sem_init(&end_, 0, 0);
  receiver_ = std::thread([this] {
    pthread_sigmask(SIG_SETMASK, &blocked_.previous(), nullptr);
    while (sem_wait(&end_) != 0) {  // a handler that ran in this thread also interrupts the wait
    }
  });
}

SignalShield::~SignalShield() {
  sem_post(&end_);
  receiver_.join();
  sem_destroy(&end_);
}

}  // namespace rl_training
