#include <gtest/gtest.h>

#include "rl_training/envs/registry.h"
#include "rl_training/envs/rollout.h"
#include "rl_training/envs/version_check.h"

namespace rl_training {
namespace {

bool has_mujoco() { return find_environment("Hopper-v4")->unavailable.empty(); }

// Short episodes with small actions: the hopper falls slowly, and no velocity reaches the bound of
// observed velocities.
TransitionDataset hopper_data(const std::string& id) {
  const auto env = make_environment(id);
  const Policy policy([](std::span<const double>, Rng& rng, std::span<float> action) {
    for (float& value : action) value = static_cast<float>(rng.uniform(-0.3, 0.3));
  });
  return collect_dataset(*env, policy, 300, Rng(3));
}

TEST(VersionCheck, FindsTheVersionThatRecordedTheData) {
  if (!has_mujoco()) GTEST_SKIP() << "no MuJoCo";
  const auto data = hopper_data("Hopper-v2");
  const auto v2 = make_environment("Hopper-v2"), v4 = make_environment("Hopper-v4");
  const auto own = reproduce_transitions(*v2, data), other = reproduce_transitions(*v4, data);
  EXPECT_GT(own.compared, 80);  // terminated rows are not compared
  EXPECT_EQ(own.equal, own.compared);
  EXPECT_EQ(other.compared, own.compared);
  EXPECT_EQ(other.equal, 0);
  EXPECT_EQ(other_version_warning("Hopper-v2", {}, data), "");
  const auto text = std::to_string(own.compared);
  EXPECT_EQ(other_version_warning("Hopper-v4", {}, data),
            "Hopper-v2 reproduces " + text + " of " + text +
                " recorded transitions, and the config's env_id Hopper-v4 reproduces 0: returns in "
                "Hopper-v4 are not comparable with the data");
}

TEST(VersionCheck, VersionsWithTheSameSimulatorAreEqual) {
  if (!has_mujoco()) GTEST_SKIP() << "no MuJoCo";
  EXPECT_EQ(other_version_warning("Hopper-v5", {}, hopper_data("Hopper-v4")), "");
}

TEST(VersionCheck, ComparesNothingIfTheStateIsNotObserved) {
  const auto env = make_environment("Acrobot-v1");
  EXPECT_EQ(reproduce_transitions(*env, random_dataset("Acrobot-v1", 200, 0)).compared, 0);
}

TEST(VersionCheck, ReplaysDiscreteActions) {
  const auto env = make_environment("CartPole-v1");
  const auto found = reproduce_transitions(*env, random_dataset("CartPole-v1", 200, 0));
  EXPECT_GT(found.compared, 80);
  EXPECT_EQ(found.equal, found.compared);
}

}  // namespace
}  // namespace rl_training
