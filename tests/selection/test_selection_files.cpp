#include <gtest/gtest.h>

#include "rl_training/selection/selection_files.h"

namespace rl_training {
namespace {

PolicyEstimate estimate_of(const std::string& run, double value, double rank, double truth) {
  PolicyEstimate estimate;
  estimate.run = run;
  estimate.value = value;
  estimate.low = value - 1;
  estimate.high = value + 2;
  estimate.rank = rank;
  estimate.truth = truth;
  return estimate;
}

TEST(SelectionCharts, NamePoliciesInTheOrderOfTheirRanks) {
  const auto charts = selection_charts(
      {estimate_of("/data/runs/td3_bc__seed0", -9, 2, -70),
       estimate_of("/data/runs/iql__seed1/checkpoints/step-000000300/", -4, 1, -80)});
  ASSERT_EQ(charts.size(), 2u);
  for (const auto& chart : charts) {
    ASSERT_EQ(chart.series.size(), 2u);
    EXPECT_EQ(chart.series[0].name, "1: iql__seed1/step-000000300");
    EXPECT_EQ(chart.series[1].name, "2: td3_bc__seed0");
    ASSERT_EQ(chart.series[1].points.size(), 1u);
    EXPECT_EQ(chart.series[1].points[0].y, -9);
    EXPECT_EQ(chart.series[1].points[0].low, -10);
    EXPECT_EQ(chart.series[1].points[0].high, -7);
    EXPECT_FALSE(chart.series[1].joined);
  }
  EXPECT_EQ(charts[0].series[1].points[0].x, 2);
  EXPECT_EQ(charts[1].series[1].points[0].x, -70);
}

}  // namespace
}  // namespace rl_training
