#include <gtest/gtest.h>

#include <stdexcept>

#include "rl_training/util/thread_pool.h"

namespace rl_training {
namespace {

class ThreadPoolOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolOf, testing::Values(1, 2, 8));

TEST_P(ThreadPoolOf, RunsEachTaskOnce) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.size(), GetParam());
  for (const int64_t tasks : {0, 1, 2, 3, 7, 64, 1000}) {
    std::vector<std::atomic<int>> calls(static_cast<size_t>(tasks));
    pool.run(tasks, [&](int64_t i) { calls.at(static_cast<size_t>(i)).fetch_add(1); });
    for (const auto& count : calls) ASSERT_EQ(count.load(), 1) << tasks;
  }
}

// Values that the tasks write must be visible after run() without further locking.
TEST_P(ThreadPoolOf, CanBeUsedManyTimes) {
  ThreadPool pool(GetParam());
  std::vector<int64_t> cells(5);
  for (int64_t round = 0; round < 500; ++round) {
    pool.run(5, [&](int64_t i) { cells[static_cast<size_t>(i)] += i + round; });
  }
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(cells[static_cast<size_t>(i)], 500 * i + 499 * 500 / 2);
  }
}

TEST_P(ThreadPoolOf, RethrowsAndGoesOn) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 50; ++round) {
    try {
      pool.run(20, [](int64_t i) {
        if (i == 13) throw std::runtime_error("task 13");
      });
      FAIL() << "no exception";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "task 13");
    }
    std::atomic<int> calls = 0;
    pool.run(20, [&](int64_t) { calls.fetch_add(1); });
    EXPECT_EQ(calls.load(), 20);
  }
}

TEST_P(ThreadPoolOf, RethrowsOneOfMany) {
  ThreadPool pool(GetParam());
  EXPECT_THROW(pool.run(100, [](int64_t) { throw std::out_of_range("x"); }), std::out_of_range);
}

TEST(ThreadPool, StartsAndEndsWithoutWork) {
  for (int round = 0; round < 50; ++round) ThreadPool pool(1 + round % 4);
}

TEST(ThreadPool, ThereIsACore) { EXPECT_GE(available_cores(), 1); }

}  // namespace
}  // namespace rl_training
