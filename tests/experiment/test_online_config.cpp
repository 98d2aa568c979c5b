// Tests the config keys of online training: which values are rejected, and what the errors report.
#include <gtest/gtest.h>

#include "rl_training/experiment/train_config.h"

namespace rl_training::test_online_config {
namespace {

std::string error_of(const std::string& config, const std::vector<std::string>& assignments) {
  auto root = load_config(config);
  for (const auto& assignment : assignments) set_config_value(root, assignment);
  try {
    read_train_config(root);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return error.what();
  }
  return "no error";
}

TEST(OnlineConfig, WrongValuesAreRefusedByName) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"sac/pendulum", "learning_starts=-1"},
      {"sac/pendulum", "train_frequency=0"},
      {"sac/pendulum", "gradient_updates_per_step=0"},
      {"sac/pendulum", "buffer_capacity=99"},
      {"sac/pendulum", "alpha=-1"},
      {"sac/pendulum", "min_buffer_size=100001"},
      {"sac/pendulum", "her=future"},
      {"sac/pendulum", "dataset_kind=random"},
      {"sac/pendulum", "num_critics=2"},
      {"td3/pendulum", "policy_delay=0"},
      {"td3/pendulum", "policy_noise=-0.1"},
      {"td3/pendulum", "noise_clip=-0.1"},
      {"ddpg/pendulum", "exploration_noise=-0.1"},
      {"ddpg/pendulum", "policy_noise=0.1"},
      {"redq/pendulum", "num_min_critics=11"},
      {"redq/pendulum", "num_min_critics=0"},
      {"tqc/pendulum", "drop_per_critic=25"},
      {"tqc/pendulum", "drop_per_critic=-1"},
      {"tqc/pendulum", "num_quantiles=0"},
      {"rlpd/pendulum", "offline_batch_ratio=1.1"},
      {"rlpd/pendulum", "offline_batch_ratio=-0.1"},
      {"rlpd/pendulum", "offline_pretrain_updates=-1"},
      {"rlpd/pendulum", "num_critics=1"},
      {"rlpd/pendulum", "num_min_critics=11"},
      {"rlpd/pendulum", "actor_q=max"},
      {"rlpd/pendulum-narrow", "target_entropy=-1"},
  };
  for (const auto& [name, assignment] : wrong) {
    const auto key = assignment.substr(0, assignment.find('='));
    EXPECT_NE(error_of(name, {assignment}).find("algo_kwargs." + key + ": "), std::string::npos)
        << name << " " << assignment << ": " << error_of(name, {assignment});
  }
}

TEST(OnlineConfig, SequenceModelsDoNotLearnFromAReplayBuffer) {
  const auto error = error_of("decision_transformer/pendulum", {"online=1000"});
  EXPECT_NE(error.find("online: decision_transformer learns from segments of whole episodes"),
            std::string::npos)
      << error;
}

TEST(OnlineConfig, EnvironmentsFitIntoTheBuffer) {
  EXPECT_NE(error_of("sac/pendulum", {"num_envs=4097"}).find("num_envs"), std::string::npos);
  const auto small = error_of("sac/pendulum", {"num_envs=200", "buffer_capacity=150"});
  EXPECT_NE(small.find("expected at least num_envs 200, got 150"), std::string::npos) << small;
}

TEST(OnlineConfig, HindsightKeysAreChecked) {
  const std::string goals = "env_id=RL-PointGoal2D-v0";
  EXPECT_EQ(error_of("sac/pendulum", {goals, "her={strategy: final, k: 0}"}), "no error");
  EXPECT_EQ(error_of("sac/pendulum", {goals, "her=episode"}), "no error");
  EXPECT_NE(error_of("sac/pendulum", {goals, "her={k: -1}"}).find("her.k"), std::string::npos);
  EXPECT_NE(error_of("sac/pendulum", {goals, "her=past"}).find("her"), std::string::npos);
}

TEST(OnlineConfig, TheOnlinePartIsCheckedAtItsOwnKeys) {
  const std::string config = "td3_bc/pendulum-random";
  EXPECT_EQ(error_of(config, {"online=500"}), "no error");
  EXPECT_EQ(error_of(config, {"online.total_timesteps=500"}), "no error");
  const auto key_of = [&](const std::string& assignment, const std::string& key) {
    const auto error = error_of(config, {assignment});
    EXPECT_NE(error.find(key + ": "), std::string::npos) << assignment << ": " << error;
  };
  key_of("online.buffer_capacity=3", "online.buffer_capacity");
  key_of("online.her=future", "online.her");
  key_of("online.total_timesteps=0", "online.total_timesteps");
  key_of("online.offline_pretrain_updates=3", "online.offline_pretrain_updates");
  EXPECT_NE(error_of("sac/pendulum", {"online=500"}).find("online: "), std::string::npos);
}

}  // namespace
}  // namespace rl_training::test_online_config
