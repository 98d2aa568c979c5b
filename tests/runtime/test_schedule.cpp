#include <gtest/gtest.h>

#include "rl_training/runtime/schedule.h"

namespace rl_training::test_schedule {
namespace {

TEST(Schedule, ConstantIsExactlyOne) {
  for (const int64_t step : {0, 1, 49, 99, 100, 1000}) {
    EXPECT_EQ(resolve_schedule_value({}, step, 100), 1.0) << step;
  }
  EXPECT_EQ(resolve_schedule_value({.start = 0.25, .end = 7}, 50, 100), 0.25);
}

TEST(Schedule, LinearGoesFromStartToEnd) {
  const ScheduleSpec spec = {.type = ScheduleSpec::Type::linear, .start = 1.0, .end = 0.2};
  EXPECT_EQ(resolve_schedule_value(spec, 0, 100), 1.0);
  EXPECT_DOUBLE_EQ(resolve_schedule_value(spec, 25, 100), 0.8);
  EXPECT_DOUBLE_EQ(resolve_schedule_value(spec, 50, 100), 0.6);
  EXPECT_DOUBLE_EQ(resolve_schedule_value(spec, 99, 100), 0.208);
  EXPECT_DOUBLE_EQ(resolve_schedule_value(spec, 100, 100), 0.2);
  EXPECT_DOUBLE_EQ(resolve_schedule_value(spec, 500, 100), 0.2);  // possible if a run was shortened
}

TEST(Schedule, CosineGoesFromStartToEnd) {
  const ScheduleSpec spec = {.type = ScheduleSpec::Type::cosine};
  EXPECT_EQ(resolve_schedule_value(spec, 0, 1000), 1.0);
  EXPECT_DOUBLE_EQ(resolve_schedule_value(spec, 250, 1000), 0.5 + 0.25 * std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(3e-4 * resolve_schedule_value(spec, 500, 1000), 1.5e-4);
  EXPECT_DOUBLE_EQ(resolve_schedule_value(spec, 750, 1000), 0.5 - 0.25 * std::sqrt(2.0));
  EXPECT_EQ(resolve_schedule_value(spec, 1000, 1000), 0.0);
  const ScheduleSpec upwards = {.type = ScheduleSpec::Type::cosine, .start = 0.5, .end = 2.5};
  EXPECT_EQ(resolve_schedule_value(upwards, 0, 10), 0.5);
  EXPECT_DOUBLE_EQ(resolve_schedule_value(upwards, 5, 10), 1.5);
  EXPECT_EQ(resolve_schedule_value(upwards, 10, 10), 2.5);
}

// The warm-up multiplies the start value by min(1, (t + 1) / w) in the first w updates. The
// schedule then spans the remaining updates.
TEST(Schedule, WarmUpRisesLinearly) {
  const ScheduleSpec constant = {.warmup_steps = 4};
  const double expected[] = {0.25, 0.5, 0.75, 1.0, 1.0, 1.0};
  for (int64_t step = 0; step < 6; ++step) {
    EXPECT_EQ(resolve_schedule_value(constant, step, 100), expected[step]) << step;
  }
  const ScheduleSpec linear = {
      .type = ScheduleSpec::Type::linear, .start = 0.8, .end = 0, .warmup_steps = 20};
  EXPECT_DOUBLE_EQ(resolve_schedule_value(linear, 0, 120), 0.04);
  EXPECT_DOUBLE_EQ(resolve_schedule_value(linear, 19, 120), 0.8);
  EXPECT_DOUBLE_EQ(resolve_schedule_value(linear, 20, 120), 0.8);
  EXPECT_DOUBLE_EQ(resolve_schedule_value(linear, 70, 120), 0.4);
  EXPECT_EQ(resolve_schedule_value(linear, 120, 120), 0.0);
  const ScheduleSpec cosine = {.type = ScheduleSpec::Type::cosine, .warmup_steps = 20};
  EXPECT_DOUBLE_EQ(resolve_schedule_value(cosine, 70, 120), 0.5);
}

TEST(Schedule, WarmUpMayBeLongerThanTheRun) {
  const ScheduleSpec spec = {.type = ScheduleSpec::Type::cosine, .warmup_steps = 100};
  EXPECT_DOUBLE_EQ(resolve_schedule_value(spec, 9, 10), 0.1);
  EXPECT_EQ(resolve_schedule_value(spec, 100, 10), 1.0);
  EXPECT_EQ(resolve_schedule_value(spec, 101, 10), 0.0);
}

}  // namespace
}  // namespace rl_training::test_schedule
