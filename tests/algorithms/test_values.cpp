#include <gtest/gtest.h>

#include "rl_training/algorithms/actor_critic.h"
#include "rl_training/algorithms/discrete_sac.h"
#include "rl_training/algorithms/registry.h"

namespace rl_training::test_values {
namespace {

TEST(Values, AreTheLeastOfTheCritics) {
  Rng rng(1, "init");
  const CriticEnsemble critics(2, 1, {.count = 3, .hidden_sizes = {4}}, rng, {});
  const auto obs = torch::tensor({{0.1f, -2.0f}, {3.0f, 0.5f}});
  const auto actions = torch::tensor({{0.7f}, {-0.2f}});
  const auto all = critics.values(obs, actions);
  const auto found = least_value(critics, obs, actions);
  ASSERT_EQ(found.sizes(), (std::vector<int64_t>{2}));
  for (int64_t row = 0; row < 2; ++row) {
    float least = all[0][row].item<float>();
    for (int64_t member = 1; member < 3; ++member) {
      least = std::min(least, all[member][row].item<float>());
    }
    EXPECT_EQ(found[row].item<float>(), least);
  }
}

TEST(Values, OfADistributionTheMeanCounts) {
  Rng rng(1, "init");
  const CriticEnsemble critics(1, 1, {.count = 1, .outputs = 2, .hidden_sizes = {4}}, rng, {});
  const auto obs = torch::tensor({{0.4f}}), actions = torch::tensor({{0.7f}});
  const auto quantiles = critics.distributions(obs, actions);
  EXPECT_NEAR(least_value(critics, obs, actions).item<float>(),
              (quantiles[0][0][0].item<float>() + quantiles[0][0][1].item<float>()) / 2, 1e-6);
}

TEST(Values, OfAChoiceAreItsOwn) {
  AlgorithmContext context;
  context.obs = Space::unbounded(2);
  context.action = Space::discrete(3);
  DiscreteSacOptions options;
  options.hidden_sizes = {4};
  DiscreteSac algorithm(options, context);
  const auto obs = torch::tensor({{0.1f, -2.0f}, {3.0f, 0.5f}});
  const auto of = [&](int64_t first, int64_t second) {
    return algorithm.values(obs, torch::tensor({first, second}));
  };
  EXPECT_EQ(of(0, 2)[1].item<float>(), of(1, 2)[1].item<float>());
  EXPECT_NE(of(0, 2)[0].item<float>(), of(1, 2)[0].item<float>());
  EXPECT_NE(of(0, 2)[1].item<float>(), of(0, 1)[1].item<float>());
}

TEST(Values, OnlyAlgorithmsThatLearnThemHaveAny) {
  EXPECT_FALSE(find_algorithm("bc").has_values);
  EXPECT_FALSE(find_algorithm("decision_transformer").has_values);
  for (const char* name : {"td3_bc", "iql", "bcq", "tqc", "crossq", "discrete_sac"}) {
    EXPECT_TRUE(find_algorithm(name).has_values) << name;
  }
}

}  // namespace
}  // namespace rl_training::test_values
