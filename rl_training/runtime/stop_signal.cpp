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

void install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  pending = 0;
  install(remember);
}

StopSignal::~StopSignal() {
  install(SIG_DFL);
  pending = 0;
}

int StopSignal::received() { return pending; }

}  // namespace rl_training
