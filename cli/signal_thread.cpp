#include "cli/signal_thread.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>

namespace rl_training {
namespace {

sigset_t taken_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&set, signal);
  return set;
}

// Applies the default effect of a signal.
void die_by_default(int signal) {
  struct sigaction present {};
  sigaction(signal, nullptr, &present);
  // The signal may be ignored, for example under nohup or in a background job of a script.
  if (present.sa_handler == SIG_IGN) return;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(signal);
}

}  // namespace

void block_taken_signals() {
  const sigset_t set = taken_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalThread::SignalThread() {
  link_process_start();
  block_taken_signals();  // the new thread inherits this mask and receives the signals with sigwait
  thread_ = std::thread([this] { take_signals(); });
}

SignalThread::~SignalThread() { end(); }

void SignalThread::end() {
  if (!thread_.joinable()) return;
  ending_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

StopRequests& SignalThread::begin_training() {
  training_ = true;
  std::signal(SIGPIPE, SIG_IGN);  // keep training if a pager or an ssh connection ends
  return requests_;
}

void SignalThread::take_signals() {
  const sigset_t set = taken_signals();
  while (!ending_) {
    int signal = 0;
    const bool taken = sigwait(&set, &signal) == 0;
    // Ignores the SIGUSR1 that end() sends.
    if (taken && !(ending_ && signal == SIGUSR1)) take(signal);
  }
}

void SignalThread::take(int signal) {
  if (!training_) return die_by_default(signal);
  if (signal == SIGHUP || signal == SIGUSR1) return requests_.request_checkpoint();
  if (requests_.stop() != 0) ::_exit(128 + signal);
  requests_.request_stop(signal);
}

}  // namespace rl_training
