#include "rl_training/runtime/stop_signal.h"

#include <unistd.h>

#include <csignal>

namespace rl_training {
namespace {

volatile std::sig_atomic_t pending = 0;  // a signal handler can reach nothing but a global

void remember(int signal) {
  if (pending != 0) _exit(128 + signal);
  pending = signal;
}

}  // namespace

StopSignal::StopSignal() {
  pending = 0;
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &previous_interrupt_);
  sigaction(SIGTERM, &action, &previous_terminate_);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &previous_interrupt_, nullptr);
  sigaction(SIGTERM, &previous_terminate_, nullptr);
  pending = 0;
}

int StopSignal::received() { return pending; }

}  // namespace rl_training
