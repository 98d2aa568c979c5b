#include <gtest/gtest.h>

#include "rl_training/runtime/thread_choice.h"

namespace rl_training {
namespace {

// Simulates updates. A test defines how long an update takes with each number of threads.
class TimedUpdates {
 public:
  explicit TimedUpdates(int threads, bool automatic = true)
      : pool(threads), choice(automatic ? &pool : nullptr, [this] { return now_; }) {}

  // Performs updates and returns the number of threads of the last update.
  int run(int64_t updates) {
    for (int64_t i = 0; i < updates; ++i) {
      choice.begin_update();
      used_ = pool.size();
      used.push_back(used_);
      now_ += seconds(used_);
      choice.end_update();
    }
    return used_;
  }

  std::function<double(int threads)> seconds = [](int) { return 0.001; };
  std::vector<int> used;
  ThreadPool pool;
  ThreadChoice choice;

 private:
  double now_ = 0.0;
  int used_ = 0;
};

TEST(ThreadChoice, TakesTheFastestNumber) {
  TimedUpdates updates(8);
  updates.seconds = [](int threads) { return threads == 4 ? 0.001 : 0.002; };
  EXPECT_EQ(updates.run(1000), 4);
  for (const int tried : {1, 2, 4, 8}) {
    EXPECT_GE(std::count(updates.used.begin(), updates.used.end(), tried), 3 * 4) << tried;
  }
}

TEST(ThreadChoice, TriesAllThreadsOfAnOddNumber) {
  TimedUpdates updates(3);
  updates.seconds = [](int threads) { return 0.003 / threads; };
  EXPECT_EQ(updates.run(1000), 3);
}

TEST(ThreadChoice, PrefersFewerThreadsIfNearlyAsFast) {
  TimedUpdates updates(2);
  updates.seconds = [](int threads) { return threads == 2 ? 0.00096 : 0.001; };
  EXPECT_EQ(updates.run(1000), 1);
  TimedUpdates faster(2);
  faster.seconds = [](int threads) { return threads == 2 ? 0.00094 : 0.001; };
  EXPECT_EQ(faster.run(1000), 2);
}

// Only the fastest turn of each number of threads counts, so a turn that other programs slow down
// has no effect.
TEST(ThreadChoice, TakesTheFastestTurnOfEach) {
  TimedUpdates updates(2);
  int64_t call = 0;
  updates.seconds = [&](int threads) {
    const bool disturbed = threads == 2 && call++ < 6;
    return disturbed ? 0.1 : 0.002 / threads;
  };
  EXPECT_EQ(updates.run(1000), 2);
}

// Each number of threads has three turns. If updates are long, a turn consists of one update that
// is not timed and three that are timed.
TEST(ThreadChoice, LongUpdatesAreTriedTwelveTimesEach) {
  TimedUpdates updates(2);
  updates.seconds = [](int threads) { return threads == 2 ? 3.0 : 1.0; };
  updates.run(100);
  EXPECT_EQ(std::count(updates.used.begin(), updates.used.end(), 2), 12);
}

TEST(ThreadChoice, EvaluationsUseAllThreads) {
  TimedUpdates updates(4);
  updates.seconds = [](int threads) { return 0.001 * threads; };
  EXPECT_EQ(updates.run(1000), 1);
  updates.choice.use_all();
  EXPECT_EQ(updates.pool.size(), 4);
  EXPECT_EQ(updates.run(1), 1);
}

TEST(ThreadChoice, LeavesAGivenNumberAlone) {
  TimedUpdates updates(4, /*automatic=*/false);
  updates.seconds = [](int threads) { return 0.001 * threads; };
  EXPECT_EQ(updates.run(1000), 4);
  EXPECT_EQ(std::count(updates.used.begin(), updates.used.end(), 4), 1000);
}

}  // namespace
}  // namespace rl_training
