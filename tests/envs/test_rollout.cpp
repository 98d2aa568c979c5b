#include <gtest/gtest.h>

#include <cmath>

#include "rl_training/envs/registry.h"
#include "rl_training/envs/rollout.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

// A policy that counts its calls and records the rewards that it observes.
struct Remembering {
  int64_t episodes = 0, acted = 0;
  std::vector<double> rewards;

  Policy policy() {
    Policy result = [this](std::span<const double>, Rng&, std::span<float> action) {
      // Before each action, the policy must have observed the rewards of all earlier actions.
      EXPECT_EQ(static_cast<int64_t>(rewards.size()), acted);
      ++acted;
      action[0] = 0.5f;
    };
    result.begin_episode = [this] { ++episodes; };
    result.observe_reward = [this](double reward) { rewards.push_back(reward); };
    return result;
  }
};

TEST(Rollout, PoliciesHearOfEpisodesAndRewards) {
  const auto env = make_environment("Pendulum-v1");
  Remembering played;
  const auto episode = play_episode(*env, played.policy(), Rng(1));
  EXPECT_EQ(played.episodes, 1);
  EXPECT_EQ(played.acted, 200);
  double sum = 0;
  for (const double reward : played.rewards) sum += reward;
  EXPECT_EQ(sum, episode.sum);
}

// The task is created without the wrapper that ends episodes, so play_episode() must end the
// episode.
TEST(Rollout, EndsAtTheTimeLimitOfTheTask) {
  const auto bare = find_environment("Pendulum-v1")->make();
  Remembering played;
  EXPECT_EQ(play_episode(*bare, played.policy(), Rng(1)).steps, 200);
}

TEST(Rollout, AlsoWhileADatasetIsCollected) {
  const auto env = make_environment("Pendulum-v1");
  Remembering collected;
  const auto data = collect_dataset(*env, collected.policy(), 250, Rng(1));
  EXPECT_EQ(collected.episodes, 2);
  ASSERT_EQ(collected.rewards.size(), 250u);
  for (int64_t row = 0; row < 250; ++row) {
    EXPECT_EQ(data.reward(row), static_cast<float>(collected.rewards[static_cast<size_t>(row)]));
  }
}

// A network whose parameters have diverged returns NaN. For discrete actions, NaN has no nearest
// action.
TEST(Rollout, AnActionThatIsNotFiniteStopsTheEpisode) {
  const Policy diverged = [](std::span<const double>, Rng&, std::span<float> action) {
    action[0] = std::nanf("");
  };
  for (const char* id : {"CartPole-v1", "Pendulum-v1"}) {
    const auto env = make_environment(id);
    try {
      play_episode(*env, diverged, Rng(1));
      FAIL() << id;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::diverged);
    }
  }
}

}  // namespace
}  // namespace rl_training
