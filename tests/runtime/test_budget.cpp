#include <gtest/gtest.h>

#include <limits>

#include "rl_training/runtime/budget.h"

namespace rl_training::test_budget {
namespace {

BudgetOptions limits(std::optional<int64_t> max_updates, std::optional<int64_t> max_epochs = {}) {
  BudgetOptions options;
  options.max_updates = max_updates;
  options.max_epochs = max_epochs;
  return options;
}

std::vector<PhaseSpec> updates(int64_t length) { return {{.name = "offline", .length = length}}; }

void expect_budget(const Budget& budget, int64_t updates, const std::string& reason) {
  EXPECT_EQ(budget.updates, updates);
  EXPECT_EQ(budget.reason, reason);
}

TEST(Budget, AnEpochIsTheRowsInBatchesRoundedUp) {
  EXPECT_EQ(plan_budget({}, updates(100), 1000, 256).epoch_updates, 4);
  EXPECT_EQ(plan_budget({}, updates(100), 1024, 256).epoch_updates, 4);
  EXPECT_EQ(plan_budget({}, updates(100), 1025, 256).epoch_updates, 5);
  EXPECT_EQ(plan_budget({}, updates(100), 10, 256).epoch_updates, 1);
}

TEST(Budget, TheTightestLimitWinsAndNamesItself) {
  expect_budget(plan_budget({}, updates(100), 1000, 100), 100, "total_timesteps");
  expect_budget(plan_budget(limits(99), updates(100), 1000, 100), 99, "max_updates");
  expect_budget(plan_budget(limits(101), updates(100), 1000, 100), 100, "total_timesteps");
  expect_budget(plan_budget(limits(100), updates(100), 1000, 100), 100, "total_timesteps");
  expect_budget(plan_budget(limits({}, 9), updates(100), 1000, 100), 90, "max_epochs");
  expect_budget(plan_budget(limits({}, 11), updates(100), 1000, 100), 100, "total_timesteps");
  expect_budget(plan_budget(limits({}, 9), updates(100), 1001, 100), 99, "max_epochs");
  expect_budget(plan_budget(limits(50, 9), updates(100), 1000, 100), 50, "max_updates");
  expect_budget(plan_budget(limits(95, 9), updates(100), 1000, 100), 90, "max_epochs");
}

TEST(Budget, HugeLimitsDoNotOverflow) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  expect_budget(plan_budget(limits(kHuge, kHuge), updates(100), 1000, 10), 100, "total_timesteps");
  expect_budget(plan_budget(limits({}, kHuge), updates(kHuge), 1000, 10), kHuge, "total_timesteps");
}

TEST(Budget, TooFewRowsAreRefused) {
  BudgetOptions options;
  options.min_buffer_size = 1000;
  EXPECT_NO_THROW(check_dataset_size(options, 1000));
  try {
    check_dataset_size(options, 999);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_STREQ(error.what(),
                 "algo_kwargs.min_buffer_size: the dataset is too small (expected at least 1000 "
                 "rows, got 999)");
  }
}

}  // namespace
}  // namespace rl_training::test_budget
