#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "rl_training/runtime/signal_shield.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {
namespace {

std::atomic<pid_t> handled_by{0};

void note_thread(int) { handled_by = ::gettid(); }

// Installs a signal handler, as a host program does, and restores the previous handler at the end.
class HostHandler {
 public:
  explicit HostHandler(int signal) : signal_(signal) {
    handled_by = 0;
    struct sigaction action {};
    action.sa_handler = note_thread;
    sigaction(signal, &action, &previous_);
  }
  ~HostHandler() { sigaction(signal_, &previous_, nullptr); }

 private:
  int signal_;
  struct sigaction previous_ {};
};

// Sends the signal to the process and returns the id of the thread that handles it.
pid_t thread_that_handles(int signal) {
  handled_by = 0;
  ::kill(::getpid(), signal);
  while (handled_by == 0) std::this_thread::yield();
  return handled_by;
}

bool blocked_here(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

TEST(SignalShield, HandlersOfTheHostRunInAnotherThread) {
  const HostHandler handler(SIGUSR2);
  EXPECT_EQ(thread_that_handles(SIGUSR2), ::gettid());
  {
    const SignalShield shield;
    for (int i = 0; i < 100; ++i) ASSERT_NE(thread_that_handles(SIGUSR2), ::gettid());
    for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGPROF, SIGCHLD, SIGRTMIN}) {
      EXPECT_TRUE(blocked_here(signal)) << signal;
    }
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) EXPECT_FALSE(blocked_here(fault));
  }
  EXPECT_FALSE(blocked_here(SIGUSR2));
  EXPECT_EQ(thread_that_handles(SIGUSR2), ::gettid());
}

TEST(SignalShield, WhatTheHostHasBlockedStaysSo) {
  const HostHandler handler(SIGUSR2);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  {
    const SignalShield shield;
    // Sends the signal only to this thread, which blocks it. Another thread might handle a signal
    // that is sent to the process.
    pthread_kill(pthread_self(), SIGUSR2);
  }
  EXPECT_EQ(handled_by, 0);
  EXPECT_TRUE(blocked_here(SIGUSR2));
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  EXPECT_EQ(handled_by, ::gettid());
}

TEST(SignalShield, ThreadsOfAPoolRunNoHandler) {
  ThreadPool pool(3);
  std::atomic<int> blocked{0}, started{0};
  pool.run(3, [&](int64_t) {
    ++started;
    while (started < 3) std::this_thread::yield();  // each thread runs one task
    blocked += blocked_here(SIGINT) && blocked_here(SIGALRM) && !blocked_here(SIGSEGV) ? 1 : 0;
  });
  EXPECT_EQ(blocked, 2);  // all threads of the pool except the calling thread
}

}  // namespace
}  // namespace rl_training
