#include <gtest/gtest.h>

#include "rl_training/report/statistics.h"

namespace rl_training {
namespace {

// The expected values of these tests come from golden_statistics.py, which shares no code with the
// library.
const std::vector<double> kSeven = {3.5, -1.0, 12.0, 4.0, 8.25, -6.5, 5.0};
const std::vector<double> kFive = {-231.4, -198.2, -305.9, -150.0, -412.7};

TEST(Statistics, MeanMedianQuantilesAndInterquartileMean) {
  EXPECT_DOUBLE_EQ(mean_of(kSeven), 3.607142857142857);
  EXPECT_DOUBLE_EQ(median_of(kSeven), 4.0);
  EXPECT_DOUBLE_EQ(median_of(std::vector<double>{1, 10}), 5.5);
  EXPECT_DOUBLE_EQ(interquartile_mean(kSeven), 3.95);
  EXPECT_DOUBLE_EQ(interquartile_mean(std::vector<double>{1, 2, 9}), 4.0);  // discards no value
  EXPECT_DOUBLE_EQ(interquartile_mean(std::vector<double>{-100, 2, 4, 900}), 3.0);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{-6.5, -1, 3.5, 4, 5, 8.25, 12}, 0.1), -3.2);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{7}, 0.975), 7);
}

TEST(Statistics, BootstrapIntervalsAreThoseOfAllResamples) {
  const auto five = bootstrap_interval({kFive}, interquartile_mean);
  ASSERT_TRUE(five);
  // The 5000 random resamples only approximate the percentiles. Neighbouring values of the
  // resampled interquartile mean are a few units apart, so the tolerance is 6.
  EXPECT_NEAR(five->low, -377.1, 6);
  EXPECT_NEAR(five->high, -166.0667, 6);
  // With two runs, about a quarter of the resamples contain only the first value, and about a
  // quarter only the second. The interval therefore extends from one value to the other.
  const auto two = bootstrap_interval({{3, 8}}, mean_of);
  EXPECT_EQ(two->low, 3);
  EXPECT_EQ(two->high, 8);
  EXPECT_FALSE(bootstrap_interval({{3}}, mean_of));
  EXPECT_FALSE(bootstrap_interval({{3}, {4}}, mean_of));
}

TEST(Statistics, TasksAreResampledEachForItself) {
  const Strata strata = {{10, 14, 30}, {55, 61, 80}};
  EXPECT_DOUBLE_EQ(interquartile_mean(pooled(strata)), 40);
  const auto interval = bootstrap_interval(strata, interquartile_mean);
  EXPECT_NEAR(interval->low, 33.5, 0.6);
  EXPECT_NEAR(interval->high, 50.25, 0.6);
  // If the six runs belonged to one task, all values of a resample could come from the lower half.
  // The interval would then start below 28 instead of near 33.5.
  const auto mixed = bootstrap_interval({pooled(strata)}, interquartile_mean);
  EXPECT_LT(mixed->low, 28);
}

TEST(Statistics, TheSameScoresGiveTheSameInterval) {
  const auto a = bootstrap_interval({kSeven}, interquartile_mean);
  const auto b = bootstrap_interval({kSeven}, interquartile_mean);
  EXPECT_EQ(a->low, b->low);
  EXPECT_EQ(a->high, b->high);
}

TEST(Statistics, ProbabilityOfImprovement) {
  const Strata x = {{1, 4, 4, 9}}, y = {{2, 4, 5}};
  EXPECT_DOUBLE_EQ(probability_of_improvement(x, y), 0.5);
  EXPECT_DOUBLE_EQ(probability_of_improvement({{3, 4}}, {{1, 3}}), 0.875);
  EXPECT_DOUBLE_EQ(probability_of_improvement({{3, 4}, {0}}, {{1, 3}, {1}}), 0.4375);
  const auto interval = improvement_interval(x, y);
  EXPECT_NEAR(interval->low, 0.08333, 0.03);
  EXPECT_NEAR(interval->high, 0.91667, 0.03);
  EXPECT_FALSE(improvement_interval({{1}}, y));
}

TEST(Statistics, PerformanceProfile) {
  const std::vector<double> thresholds = {-7, -1, 4, 11.9, 12};
  EXPECT_EQ(performance_profile(kSeven, thresholds),
            (std::vector<double>{1, 5.0 / 7, 3.0 / 7, 1.0 / 7, 0}));
}

}  // namespace
}  // namespace rl_training
