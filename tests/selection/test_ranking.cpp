// The golden values were computed by hand, or in double precision with torch.
#include <gtest/gtest.h>

#include <cmath>

#include "rl_training/selection/importance.h"
#include "rl_training/selection/ranking.h"

namespace rl_training {
namespace {

TEST(Ranking, RanksTheLargestFirstAndSharesTies) {
  EXPECT_EQ(ranks_of(std::vector<double>{3, 9, 3, 1}), (std::vector<double>{2.5, 1, 2.5, 4}));
  // Values that are not finite have the last ranks.
  EXPECT_EQ(ranks_of(std::vector<double>{std::nan(""), 2, HUGE_VAL}),
            (std::vector<double>{2.5, 1, 2.5}));
}

TEST(Ranking, GoldenCorrelationAndRegret) {
  const std::vector<double> truth = {10, 40, 25, 50}, estimate = {12, 48, 30, 45};
  EXPECT_NEAR(spearman_correlation(truth, estimate), 0.8, 1e-12);
  EXPECT_EQ(regret_at_k(truth, estimate, 1), 10);
  EXPECT_EQ(regret_at_k(truth, estimate, 2), 0);
  EXPECT_EQ(regret_at_k(truth, estimate, 9), 0);
  const std::vector<double> reversed = {4, 3, 2, 1}, ascending = {1, 2, 3, 4}, same = {5, 5, 5, 5};
  EXPECT_NEAR(spearman_correlation(reversed, ascending), -1, 1e-12);
  EXPECT_EQ(spearman_correlation(same, ascending), 0);
}

TEST(Ranking, IntervalHoldsEpisodesAndCritics) {
  // Equal values produce an interval of length 0.
  const auto sure = bootstrap_starts({{3, 3, 3}, {3, 3, 3}});
  EXPECT_EQ(sure.low, 3);
  EXPECT_EQ(sure.high, 3);
  // If the critics differ, the interval extends from the smaller to the larger value.
  const auto critics = bootstrap_starts({{1, 1, 1}, {2, 2, 2}});
  EXPECT_EQ(critics.low, 1);
  EXPECT_EQ(critics.high, 2);
  // With 100 values of 0 and 100 values of 1, the interval is about 0.5 +- 0.0693, because
  // 1.96 * 0.5 / sqrt(200) = 0.0693.
  std::vector<double> coins(200, 0.0);
  for (size_t i = 0; i < 100; ++i) coins[i] = 1;
  const auto coin = bootstrap_starts({coins});
  EXPECT_NEAR(coin.low, 0.4307, 0.012);
  EXPECT_NEAR(coin.high, 0.5693, 0.012);
}

// Two episodes of two steps, with the actions (1, 1) and (0, 0). Action 1 has the probability 0.8
// under the policy and 0.5 under the behaviour policy, so the importance ratios are 1.6 for action
// 1 and 0.4 for action 0. For the actions 0 and 1, Q is 1 and 2 at step 0, and 0.5 and 1.5 at
// step 1.
std::vector<WeightedEpisode> golden_episodes() {
  const double up = std::log(1.6), down = std::log(0.4);
  return {{{up, 1, 2, 1.8}, {up, 2, 1.5, 1.3}}, {{down, 3, 1, 1.8}, {down, 1, 0.5, 1.3}}};
}

TEST(Importance, GoldenEstimates) {
  const auto all = importance_estimates(golden_episodes(), 0.9);
  EXPECT_NEAR(all.trajectory, 3.896, 1e-9);
  EXPECT_NEAR(all.weighted_trajectory, 2.864706, 1e-6);
  EXPECT_NEAR(all.per_decision, 3.776, 1e-9);
  EXPECT_NEAR(all.weighted_per_decision, 3.147059, 1e-6);
  EXPECT_NEAR(all.doubly_robust, 3.182, 1e-9);
  EXPECT_NEAR(all.effective_episodes, 1.124514, 1e-6);
  const auto episodes = golden_episodes();
  EXPECT_NEAR(importance_estimates({episodes[0]}, 0.9).doubly_robust, 3.224, 1e-9);
  EXPECT_NEAR(importance_estimates({episodes[1]}, 0.9).doubly_robust, 3.14, 1e-9);
}

// The product of 2000 ratios of exp(-6) is too small for a double.
TEST(Importance, LongEpisodesDoNotUnderflow) {
  std::vector<WeightedEpisode> episodes(3, WeightedEpisode(2000, WeightedStep{-6, 1, 0, 0}));
  const auto equal = importance_estimates(episodes, 0.5);
  EXPECT_NEAR(equal.effective_episodes, 3, 1e-9);
  EXPECT_NEAR(equal.weighted_per_decision, 2, 1e-9);
  EXPECT_NEAR(equal.weighted_trajectory, 2, 1e-9);
  episodes[0].back().log_ratio = 2;
  EXPECT_NEAR(importance_estimates(episodes, 0.5).effective_episodes, 1.0013, 1e-3);
}

TEST(Importance, LimitCases) {
  auto episodes = golden_episodes();
  for (auto& episode : episodes) {
    for (auto& step : episode) step.q = step.v = 0;
  }
  const auto without_model = importance_estimates(episodes, 0.9);
  EXPECT_NEAR(without_model.doubly_robust, without_model.per_decision, 1e-12);
  for (auto& episode : episodes) {
    for (auto& step : episode) step.log_ratio = 0;
  }
  const auto same_policy = importance_estimates(episodes, 0.9);
  const double mean_return = ((1 + 0.9 * 2) + (3 + 0.9 * 1)) / 2;
  EXPECT_NEAR(same_policy.per_decision, mean_return, 1e-12);
  EXPECT_NEAR(same_policy.trajectory, mean_return, 1e-12);
  EXPECT_NEAR(same_policy.weighted_per_decision, mean_return, 1e-12);
  EXPECT_NEAR(same_policy.effective_episodes, 2, 1e-12);
  // With the exact values of a deterministic task, the doubly robust estimate is exact for all
  // ratios. The chain has two steps with rewards 1 and 2, so Q = V = 1 + 0.9 * 2 at the first step
  // and 2 at the second.
  for (const double ratio : {-1.0, 0.3, 2.0}) {
    const WeightedEpisode chain = {{ratio, 1, 2.8, 2.8}, {ratio, 2, 2, 2}};
    EXPECT_NEAR(importance_estimates({chain}, 0.9).doubly_robust, 2.8, 1e-12);
  }
  auto scaled = golden_episodes();
  for (auto& episode : scaled) {
    for (auto& step : episode) {
      step.reward *= 7;
      step.q *= 7;
      step.v *= 7;
    }
  }
  EXPECT_NEAR(importance_estimates(scaled, 0.9).doubly_robust, 7 * 3.182, 1e-9);
}

}  // namespace
}  // namespace rl_training
