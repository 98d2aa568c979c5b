#include <gtest/gtest.h>

#include "rl_training/runtime/early_stopping.h"
#include "tests/support/memory_state.h"

namespace rl_training::test_early_stopping {
namespace {

EarlyStoppingOptions options(int64_t patience,
                             EarlyStoppingOptions::Mode mode = EarlyStoppingOptions::Mode::max) {
  EarlyStoppingOptions options;
  options.enabled = true;
  options.patience = patience;
  options.mode = mode;
  return options;
}

// Observes value number i (counted from 1) at update 10 i. Returns the number of the value that
// stops training, or 0 if none does.
int stops_at(EarlyStopping& stopping, const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const bool stop = stopping.observe(values[i], static_cast<int64_t>(i + 1) * 10);
    EXPECT_EQ(stop, stopping.stopped());
    if (stop) return static_cast<int>(i) + 1;
  }
  return 0;
}
int stops_at(const EarlyStoppingOptions& options, const std::vector<double>& values) {
  EarlyStopping stopping(options);
  return stops_at(stopping, values);
}

TEST(EarlyStopping, CountsObservationsWithoutProgress) {
  EXPECT_EQ(stops_at(options(2), {1, 2, 3, 3, 3, 9}), 5);
  EXPECT_EQ(stops_at(options(2), {1, 0, 2, 1, 3, 2}), 0);  // an improvement restarts the count
  EXPECT_EQ(stops_at(options(1), {5, 5}), 2);
  EXPECT_EQ(stops_at(options(3), {-5, -6, -7, -8}), 4);  // the first value is an improvement
}

TEST(EarlyStopping, MayLookForTheSmallest) {
  EXPECT_EQ(stops_at(options(2, EarlyStoppingOptions::Mode::min), {3, 2, 1, 1, 1}), 5);
  EXPECT_EQ(stops_at(options(2, EarlyStoppingOptions::Mode::min), {3, 4, 5, 1}), 3);
  EXPECT_EQ(stops_at(options(2, EarlyStoppingOptions::Mode::max), {3, 2, 1, 1, 1}), 3);
}

TEST(EarlyStopping, SmallChangesAreNoProgress) {
  auto with_delta = options(2);
  with_delta.min_delta = 0.5;
  EXPECT_EQ(stops_at(with_delta, {1, 1.5, 1.5}), 3);       // the change must exceed min_delta
  EXPECT_EQ(stops_at(with_delta, {1, 1.3, 1.6, 2.0}), 0);  // 1.6 is compared with the best value, 1
  with_delta.mode = EarlyStoppingOptions::Mode::min;
  EXPECT_EQ(stops_at(with_delta, {1, 0.6, 0.4, 0.2}), 0);
  EXPECT_EQ(stops_at(with_delta, {1, 0.6, 0.5}), 3);
}

TEST(EarlyStopping, WaitsForTheFirstUpdates) {
  auto late = options(1);
  late.min_steps = 40;
  EXPECT_EQ(stops_at(late, {5, 4, 3, 2, 1}), 4);
  EXPECT_EQ(stops_at(late, {5, 4, 3, 6, 1}), 5);
}

TEST(EarlyStopping, StopsAtTheTarget) {
  auto with_target = options(10);
  with_target.target_value = -200;
  EXPECT_EQ(stops_at(with_target, {-900, -201, -200}), 3);
  with_target.min_steps = 50;
  EXPECT_EQ(stops_at(with_target, {-100, -100, -100, -300, -150}), 5);
  auto smallest = options(10, EarlyStoppingOptions::Mode::min);
  smallest.target_value = 0.1;
  EXPECT_EQ(stops_at(smallest, {0.5, 0.2, 0.05}), 3);
}

TEST(EarlyStopping, DoesNothingUnlessEnabled) {
  auto off = options(1);
  off.enabled = false;
  off.target_value = 0;
  EXPECT_EQ(stops_at(off, {5, 4, 3, 2, 1}), 0);
}

TEST(EarlyStopping, GoesOnFromItsState) {
  const std::vector<double> values = {1, 3, 2, 2.5, 2, 2, 9};
  EarlyStopping straight(options(4));
  EXPECT_EQ(stops_at(straight, values), 6);
  for (size_t cut = 0; cut < 6; ++cut) {
    EarlyStopping first(options(4));
    EXPECT_EQ(stops_at(first, {values.begin(), values.begin() + static_cast<long>(cut)}), 0);
    MemoryState state;
    state.save(first);
    EarlyStopping second(options(4));
    state.restore(second);
    EXPECT_EQ(stops_at(second, {values.begin() + static_cast<long>(cut), values.end()}),
              6 - static_cast<int>(cut));
  }
  MemoryState state;
  state.save(straight);
  EarlyStopping stopped(options(4));
  state.restore(stopped);
  EXPECT_TRUE(stopped.stopped());
}

}  // namespace
}  // namespace rl_training::test_early_stopping
