#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "rl_training/envs/recipes.h"
#include "rl_training/envs/registry.h"
#include "rl_training/envs/rollout.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

TEST(Rollout, WholeEpisodesAndACutOne) {
  const auto data = random_dataset("Pendulum-v1", 450, 1);
  ASSERT_EQ(data.rows(), 450);
  ASSERT_EQ(data.episodes().size(), 3u);
  EXPECT_EQ(data.episodes()[2].rows, 50);
  for (const int64_t row : {199, 399, 449}) {
    EXPECT_TRUE(data.truncated(row));
    EXPECT_FALSE(data.terminated(row));
    EXPECT_FALSE(data.next_action_valid(row));
  }
  EXPECT_FALSE(data.truncated(200));
  EXPECT_TRUE(data.has_next_actions());
  EXPECT_EQ(data.next_action(0), data.action(1));
}

// The stored rows are transitions of the environment: repeating the stored actions from the same
// initial state produces the stored rewards and observations.
TEST(Rollout, RowsAreWhatTheEnvironmentDid) {
  const auto env = make_environment("Pendulum-v1");
  const Policy policy = [](std::span<const double> obs, Rng& rng, std::span<float> action) {
    action[0] = static_cast<float>(obs[1] + 3 * rng.normal());  // often beyond the bounds
  };
  const auto data = collect_dataset(*env, policy, 200, Rng(4));
  Rng rng(4);
  std::vector<double> obs(3);
  env->reset(rng, obs);
  int at_bound = 0;
  for (int64_t row = 0; row < 200; ++row) {
    for (size_t k = 0; k < 3; ++k) ASSERT_EQ(data.obs(row)[k], static_cast<float>(obs[k]));
    ASSERT_LE(std::abs(data.action(row)[0]), 1.0f);
    at_bound += std::abs(data.action(row)[0]) == 1.0f;
    const auto result = env->step(std::vector{2.0 * data.action(row)[0]}, obs);
    ASSERT_EQ(data.reward(row), static_cast<float>(result.reward));
  }
  EXPECT_GT(at_bound, 50);
}

TEST(Rollout, RandomActionsFillTheRange) {
  const auto data = random_dataset("Pendulum-v1", 4000, 2);
  double sum = 0, squares = 0;
  for (int64_t row = 0; row < data.rows(); ++row) {
    sum += data.action(row)[0];
    squares += data.action(row)[0] * data.action(row)[0];
  }
  EXPECT_NEAR(sum / 4000, 0, 0.05);
  EXPECT_NEAR(squares / 4000, 1.0 / 3, 0.025);
  EXPECT_EQ(data.fingerprint(), random_dataset("Pendulum-v1", 4000, 2).fingerprint());
  EXPECT_NE(data.fingerprint(), random_dataset("Pendulum-v1", 4000, 3).fingerprint());
  EXPECT_THROW(random_dataset("Pendulum-v1", 0, 2), Error);
}

TEST(Recipes, QualityIsGraded) {
  for (const uint64_t seed : {0, 1, 2}) {
    const double random = recipe_dataset("pendulum/random", 0, seed).mean_return();
    const double medium = recipe_dataset("pendulum/medium", 0, seed).mean_return();
    const double expert = recipe_dataset("pendulum/expert", 0, seed).mean_return();
    const double mixed = recipe_dataset("pendulum/mixed", 0, seed).mean_return();
    EXPECT_LT(random, -1100);
    EXPECT_GT(medium, -700);
    EXPECT_LT(medium, -500);
    EXPECT_GT(expert, -180);
    EXPECT_NEAR(mixed, (random + medium + expert) / 3, 60);
  }
}

TEST(Recipes, MediumHasGoodAndBadEpisodesAndAllActions) {
  const auto data = recipe_dataset("pendulum/medium", 0, 0);
  ASSERT_EQ(data.rows(), 40'000);
  std::vector<double> returns;
  for (size_t i = 0; i < data.episodes().size(); ++i) {
    returns.push_back(data.episode_return(static_cast<int64_t>(i)));
  }
  std::sort(returns.begin(), returns.end());
  EXPECT_LT(returns[returns.size() / 10], -900);
  EXPECT_GT(returns[returns.size() * 9 / 10], -300);
  std::vector<int> counts(10);
  for (int64_t row = 0; row < data.rows(); ++row) {
    ++counts[std::min<size_t>(9, static_cast<size_t>((data.action(row)[0] + 1) * 5))];
  }
  for (const int count : counts) EXPECT_GT(count, 1500);
}

TEST(Recipes, SeedAndSizeDecide) {
  for (const RecipeInfo& info : recipes()) {
    SCOPED_TRACE(info.id);
    EXPECT_GE(info.default_size, 20'000);
    EXPECT_LE(info.default_size, 50'000);
    const auto data = recipe_dataset(info.id, 1000, 5);
    EXPECT_EQ(data.rows(), 1000);
    EXPECT_TRUE(data.has_next_actions());
    EXPECT_EQ(data.fingerprint(), recipe_dataset(info.id, 1000, 5).fingerprint());
    EXPECT_NE(data.fingerprint(), recipe_dataset(info.id, 1000, 6).fingerprint());
    EXPECT_NE(data.fingerprint(), recipe_dataset(info.id, 1001, 5).fingerprint());
  }
}

TEST(Recipes, UnknownIdsGetASuggestion) {
  try {
    recipe_dataset("pendulum/mediun", 0, 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_EQ(error.place().key, "dataset_id");
    EXPECT_NE(error.message().find("did you mean `pendulum/medium`?"), std::string::npos);
  }
  EXPECT_THROW(recipe_dataset("pendulum/medium", -1, 0), Error);
}

}  // namespace
}  // namespace rl_training
