#include <gtest/gtest.h>

#include <algorithm>

#include "rl_training/envs/recipes.h"
#include "rl_training/envs/registry.h"
#include "rl_training/envs/rollout.h"

namespace rl_training {
namespace {

std::vector<double> returns_of(const TransitionDataset& data) {
  std::vector<double> returns;
  for (size_t i = 0; i < data.episodes().size(); ++i) {
    returns.push_back(data.episode_return(static_cast<int64_t>(i)));
  }
  std::sort(returns.begin(), returns.end());
  return returns;
}

TEST(CartPoleRecipes, MediumIsFarFromRandomAndFromSolved) {
  for (const uint64_t seed : {0, 1, 2}) {
    const auto random = recipe_dataset("cartpole/random", 0, seed);
    const auto medium = recipe_dataset("cartpole/medium", 0, seed);
    EXPECT_NEAR(random.mean_return(), 22, 2);
    EXPECT_GT(medium.mean_return(), 120);
    EXPECT_LT(medium.mean_return(), 200);
    const auto returns = returns_of(medium);
    EXPECT_LT(returns.front(), 20);
    EXPECT_GT(returns.back(), 450);
  }
}

TEST(CartPoleRecipes, HoldChoicesAndEnds) {
  const auto data = recipe_dataset("cartpole/medium", 0, 0);
  EXPECT_EQ(data.rows(), 20'000);
  EXPECT_EQ(data.action_space(), Space::discrete(2));
  EXPECT_TRUE(data.has_next_actions());
  int64_t right = 0;
  for (int64_t row = 0; row < data.rows(); ++row) {
    ASSERT_TRUE(data.choice(row) == 0 || data.choice(row) == 1);
    right += data.choice(row);
    ASSERT_EQ(data.reward(row), 1.0f);
  }
  EXPECT_NEAR(static_cast<double>(right) / 20'000, 0.5, 0.02);
  EXPECT_EQ(data.fingerprint(), recipe_dataset("cartpole/medium", 0, 0).fingerprint());
  EXPECT_NE(data.fingerprint(), recipe_dataset("cartpole/medium", 0, 1).fingerprint());
}

// The stored rows are transitions of the environment.
TEST(CartPoleRecipes, RowsAreWhatTheEnvironmentDid) {
  const auto env = make_environment("CartPole-v1");
  const auto data = collect_dataset(*env, random_policy(env->spec().action), 200, Rng(4));
  Rng rng(4);
  std::vector<double> obs(4);
  env->reset(rng, obs);
  for (int64_t row = 0; row < data.episodes()[0].rows; ++row) {
    for (size_t k = 0; k < 4; ++k) ASSERT_EQ(data.obs(row)[k], static_cast<float>(obs[k]));
    ASSERT_EQ(rng.below(2), static_cast<uint64_t>(data.choice(row)));
    const auto result = env->step(std::vector{static_cast<double>(data.choice(row))}, obs);
    ASSERT_EQ(data.terminated(row), result.terminated);
    for (size_t k = 0; k < 4; ++k) ASSERT_EQ(data.next_obs(row)[k], static_cast<float>(obs[k]));
  }
}

TEST(LanderRecipes, MediumLandsSometimes) {
  if (!find_environment("LunarLander-v3")->unavailable.empty()) {
    GTEST_SKIP() << "this build has no Box2D";
  }
  const auto data = recipe_dataset("lunarlander/medium", 10'000, 0);
  EXPECT_EQ(data.action_space(), Space::discrete(4));
  EXPECT_GT(data.mean_return(), -50);
  EXPECT_LT(data.mean_return(), 150);
  const auto returns = returns_of(data);
  EXPECT_LT(returns.front(), -100);
  EXPECT_GT(returns.back(), 200);
}

}  // namespace
}  // namespace rl_training
