#include <gtest/gtest.h>

#include "rl_training/data/npz.h"
#include "rl_training/envs/recipes.h"
#include "rl_training/envs/registry.h"
#include "rl_training/experiment/train_config.h"
#include "rl_training/experiment/yaml_reader.h"
#include "tests/support/temporary_directory.h"

namespace rl_training::test_discrete_config {
namespace {

TrainConfig read(const std::string& text) { return read_train_config(read_yaml(text, "c.yaml")); }

std::string problem(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "no error";
}

TEST(DiscreteConfig, AlgorithmAndActionsMustFit) {
  EXPECT_EQ(
      problem("algo: cql\nenv_id: CartPole-v1\n"),
      "c.yaml:1: algo: CartPole-v1 has discrete actions and observes vectors (expected "
      "discrete_bc | discrete_bcq | discrete_cql | discrete_sac | dqn | ppo | trpo, got cql)");
  const auto text = problem("algo: discrete_sac\nenv_id: Pendulum-v1\n");
  EXPECT_TRUE(text.starts_with("c.yaml:1: algo: Pendulum-v1 has continuous actions")) << text;
  EXPECT_TRUE(text.ends_with("got discrete_sac)")) << text;
}

const std::string kFromData =
    "algo: discrete_sac\nenv_id: CartPole-v1\n"
    "algo_kwargs: {learn_from: data, dataset_kind: recipe, dataset_id: cartpole/medium}\n";

TEST(DiscreteConfig, TheSourceDecidesWhichKeysThereAre) {
  const auto online = read("algo: discrete_sac\nenv_id: CartPole-v1\n");
  EXPECT_FALSE(online.has_dataset());
  EXPECT_NE(problem("algo: discrete_sac\nenv_id: CartPole-v1\nonline: {}\n"), "no error");
  EXPECT_NE(problem("algo: discrete_sac\nenv_id: CartPole-v1\nalgo_kwargs: {dataset_size: 9}\n"),
            "no error");

  const auto offline = read(kFromData);
  EXPECT_TRUE(offline.has_dataset());
  EXPECT_EQ(offline.phases().size(), 1u);
  const auto both = read(kFromData + "online: {total_timesteps: 70}\n");
  ASSERT_EQ(both.phases().size(), 2u);
  EXPECT_EQ(both.phases()[1].length, 70);
}

// The config that a run writes can be read again, for every source of data.
TEST(DiscreteConfig, ResolvedConfigsReadBack) {
  for (const auto& text : {std::string("algo: discrete_sac\nenv_id: CartPole-v1\n"), kFromData,
                           kFromData + "online: {total_timesteps: 70}\n"}) {
    const auto config = read(text);
    const auto again =
        read_train_config(ConfigNode::from_json(write_train_config(config), "written"));
    EXPECT_EQ(write_train_config(again), write_train_config(config));
  }
}

TEST(DiscreteConfig, DataMustHoldTheChoicesOfTheEnvironment) {
  const TemporaryDirectory directory;
  const auto data = recipe_dataset("cartpole/random", 300, 1);
  save_npz_dataset(data, directory / "a.npz", nullptr);
  DatasetOptions options;
  options.source.kind = "npz";
  options.source.path = directory / "a.npz";
  EXPECT_EQ(load_transition_dataset(options, "CartPole-v1").fingerprint(), data.fingerprint());
  const auto refused = [&](const std::string& env_id) {
    try {
      load_transition_dataset(options, env_id);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("no error");
  };
  options.actions = "unit";
  EXPECT_EQ(refused("CartPole-v1"),
            "discrete actions have no units (expected environment, got unit)");
  options.actions = "environment";
  EXPECT_NE(refused("InvertedPendulum-v4"), "no error");
  options.source = {};
  options.source.kind = "recipe";
  options.source.id = "cartpole/random";
  if (find_environment("InvertedPendulum-v4")->unavailable.empty()) {
    EXPECT_EQ(refused("InvertedPendulum-v4"),
              "does not fit InvertedPendulum-v4 (expected 1 value, got 2 choices)");
  }
}

}  // namespace
}  // namespace rl_training::test_discrete_config
