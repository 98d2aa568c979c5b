#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "cli/signal_thread.h"
#include "rl_training/util/blocked_signals.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {
namespace {

// Three threads poll for requests, like a training loop. One of them also sends the signals.
TEST(SignalThread, TurnsSignalsIntoRequestsWhileOthersCompute) {
  const BlockedSignals restored_at_the_end;
  SignalThread signals;
  auto& requests = signals.begin_training();
  ThreadPool pool(3);
  std::atomic<int> checkpoints{0}, stopped_by{0};
  pool.run(3, [&](int64_t thread) {
    if (thread == 0) {
      for (int i = 0; i < 100; ++i) {
        ::kill(::getpid(), i % 2 == 0 ? SIGUSR1 : SIGHUP);
        while (checkpoints <= i) std::this_thread::yield();
      }
      EXPECT_EQ(requests.stop(), 0);
      ::kill(::getpid(), SIGTERM);
    }
    while (requests.stop() == 0) {
      if (thread == 1 && requests.take_checkpoint()) ++checkpoints;
      std::this_thread::yield();
    }
    stopped_by += requests.stop();
  });
  EXPECT_EQ(checkpoints, 100);
  EXPECT_EQ(stopped_by, 3 * SIGTERM);
  EXPECT_EQ(signals.stop(), SIGTERM);
}

// The signal thread ends although it has received no signal. A new signal thread can be started
// afterwards.
TEST(SignalThread, EndsWithItsOwner) {
  const BlockedSignals restored_at_the_end;
  for (int i = 0; i < 100; ++i) {
    SignalThread signals;
    if (i % 2 == 0) signals.begin_training();
    EXPECT_EQ(signals.stop(), 0);
  }
}

}  // namespace
}  // namespace rl_training
