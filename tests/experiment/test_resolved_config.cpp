#include <gtest/gtest.h>

#include "rl_training/algorithms/td3_bc.h"
#include "rl_training/experiment/packaged_configs.h"
#include "rl_training/experiment/train_config.h"
#include "rl_training/experiment/yaml_reader.h"
#include "rl_training/experiment/yaml_writer.h"

namespace rl_training::test_resolved_config {
namespace {

TrainConfig read(const std::string& text) { return read_train_config(read_yaml(text, "c.yaml")); }

const std::string kStart = "algo: td3_bc\nenv_id: Pendulum-v1\n";

const std::string kEverything = kStart +
                                "seed: 9007199254740993\n"
                                "total_timesteps: 3e3\n"
                                "output_dir: 'a b: c'\n"
                                "device: auto\n"
                                "threads: 3\n"
                                "num_envs: 2\n"
                                "eval_episodes: 0\n"
                                "eval_interval: 11\n"
                                "log_interval: 12\n"
                                "checkpoint_interval: 13\n"
                                "tags: [one, 'true', '3']\n"
                                "algo_kwargs:\n"
                                "  batch_size: 14\n"
                                "  hidden_sizes: [15, 16, 17]\n"
                                "  learning_rate: 0.1\n"
                                "  gamma: 0.3\n"
                                "  tau: 1\n"
                                "  bc_alpha: 1e-7\n"
                                "  policy_noise: 0\n"
                                "  noise_clip: 0.25\n"
                                "  policy_delay: 3\n"
                                "  learning_rate_schedule: {type: linear, start: 0.7, end: 0.1}\n"
                                "  warmup_steps: 18\n"
                                "  max_updates: 19\n"
                                "  max_epochs: 20\n"
                                "  min_buffer_size: 21\n"
                                "  early_stopping:\n"
                                "    metric: critic_loss\n"
                                "    mode: min\n"
                                "    patience: 22\n"
                                "    min_delta: 0.01\n"
                                "    min_steps: 23\n"
                                "    target_value: -1.5\n"
                                "  dataset_kind: recipe\n"
                                "  dataset_id: pendulum/medium\n"
                                "  dataset_size: 24\n"
                                "  dataset_seed: 25\n"
                                "  normalize_observations: false\n";

TEST(TrainConfig, EveryKeyReachesItsField) {
  const auto config = read(kEverything);
  EXPECT_EQ(config.seed, 9007199254740993);  // more digits than a double can represent
  EXPECT_EQ(config.total_timesteps, 3000);
  EXPECT_EQ(config.output_dir, "a b: c");
  EXPECT_EQ(config.device, "auto");
  EXPECT_EQ(config.threads, 3);
  EXPECT_EQ(config.num_envs, 2);
  EXPECT_EQ(config.eval_episodes, 0);
  EXPECT_EQ(config.eval_interval, 11);
  EXPECT_EQ(config.log_interval, 12);
  EXPECT_EQ(config.checkpoint_interval, 13);
  EXPECT_EQ(config.tags, (std::vector<std::string>{"one", "true", "3"}));
  const auto& options = dynamic_cast<const Td3BcOptions&>(*config.algorithm);
  EXPECT_EQ(options.batch_size, 14);
  EXPECT_EQ(options.hidden_sizes, (std::vector<int64_t>{15, 16, 17}));
  EXPECT_EQ(options.learning_rate, 0.1);
  EXPECT_EQ(options.gamma, 0.3);
  EXPECT_EQ(options.tau, 1.0);
  EXPECT_EQ(options.bc_alpha, 1e-7);
  EXPECT_EQ(options.policy_noise, 0.0);
  EXPECT_EQ(options.noise_clip, 0.25);
  EXPECT_EQ(options.policy_delay, 3);
  EXPECT_EQ(config.schedule.type, ScheduleSpec::Type::linear);
  EXPECT_EQ(config.schedule.start, 0.7);
  EXPECT_EQ(config.schedule.end, 0.1);
  EXPECT_EQ(config.schedule.warmup_steps, 18);
  EXPECT_EQ(config.budget.max_updates, 19);
  EXPECT_EQ(config.budget.max_epochs, 20);
  EXPECT_EQ(config.budget.min_buffer_size, 21);
  EXPECT_TRUE(config.early_stopping.enabled);
  EXPECT_EQ(config.early_stopping.metric, "critic_loss");
  EXPECT_EQ(config.early_stopping.mode, EarlyStoppingOptions::Mode::min);
  EXPECT_EQ(config.early_stopping.patience, 22);
  EXPECT_EQ(config.early_stopping.min_delta, 0.01);
  EXPECT_EQ(config.early_stopping.min_steps, 23);
  EXPECT_EQ(config.early_stopping.target_value, -1.5);
  EXPECT_EQ(config.dataset.source.kind, "recipe");
  EXPECT_EQ(config.dataset.source.id, "pendulum/medium");
  EXPECT_EQ(config.dataset.source.size, 24);
  EXPECT_EQ(config.dataset.source.seed, 25);
  EXPECT_FALSE(config.dataset.normalize_observations);
}

TEST(TrainConfig, ScheduleHasAShortForm) {
  const auto schedule = [](const std::string& value) {
    return read(kStart + "algo_kwargs: {learning_rate_schedule: " + value + "}\n").schedule;
  };
  EXPECT_EQ(schedule("cosine").type, ScheduleSpec::Type::cosine);
  EXPECT_EQ(schedule("cosine").start, 1.0);
  EXPECT_EQ(schedule("cosine").end, 0.0);
  EXPECT_EQ(schedule("{type: linear, end: 0.5}").end, 0.5);
  EXPECT_EQ(schedule("{}").type, ScheduleSpec::Type::constant);
  EXPECT_EQ(schedule("null").type, ScheduleSpec::Type::constant);
}

TEST(TrainConfig, EarlyStoppingIsOffUnlessThere) {
  EXPECT_FALSE(read(kStart).early_stopping.enabled);
  EXPECT_FALSE(read(kStart + "algo_kwargs: {early_stopping: null}\n").early_stopping.enabled);
  EXPECT_TRUE(read(kStart + "algo_kwargs: {early_stopping: {}}\n").early_stopping.enabled);
}

// config.yaml of a run and the config in a checkpoint are read back unchanged.
TEST(ResolvedConfig, ReadsBackToTheSame) {
  std::vector<TrainConfig> configs = {read(kStart), read(kEverything)};
  for (const auto& packaged : packaged_configs()) {
    configs.push_back(read_train_config(load_config(packaged.name)));
  }
  for (const auto& config : configs) {
    const Json json = write_train_config(config);
    const auto yaml = write_yaml(json);
    const auto from_yaml = read_train_config(read_yaml(yaml, "config.yaml"));
    EXPECT_EQ(write_train_config(from_yaml), json) << yaml;
    EXPECT_EQ(write_yaml(write_train_config(from_yaml)), yaml);
    const auto from_json = read_train_config(ConfigNode::from_json(json, "manifest.json"));
    EXPECT_EQ(write_train_config(from_json), json);
    EXPECT_EQ(config_hash(from_json), config_hash(config));
  }
}

TEST(ResolvedConfig, HoldsEveryKey) {
  const Json json = write_train_config(read(kEverything));
  const auto root = read_yaml(kEverything, "c.yaml");
  for (const auto& [key, value] : root.entries) EXPECT_TRUE(json.contains(key)) << key;
  for (const auto& [key, value] : root.find("algo_kwargs")->entries) {
    EXPECT_TRUE(json["algo_kwargs"].contains(key)) << key;
  }
}

TEST(PackagedConfigs, AllOfThemAreGoodAndFoundByName) {
  ASSERT_GE(packaged_configs().size(), 2u);
  for (const auto& packaged : packaged_configs()) {
    const auto config = read_train_config(load_config(packaged.name));
    EXPECT_TRUE(packaged.name.starts_with(config.algo + "/")) << packaged.name;
    EXPECT_EQ(packaged.text.front(), '#') << packaged.name << " does not say what it is for";
  }
}

// The authors of the algorithms publish these values for each task. Some differ from the defaults.
TEST(PackagedConfigs, LocomotionHasThePublishedNumbers) {
  const auto value_of = [](const std::string& name, const std::string& key) {
    return write_train_config(read_train_config(load_config(name)))["algo_kwargs"][key];
  };
  const std::tuple<const char*, double, int> tasks[] = {
      {"hopper", -1, 5}, {"halfcheetah", -3, 0}, {"walker2d", -3, 2}};
  for (const auto& [task, entropy, drop] : tasks) {
    const std::string end = "/" + std::string(task);
    EXPECT_EQ(value_of("redq" + end, "target_entropy"), entropy) << task;
    EXPECT_EQ(value_of("redq" + end, "alpha"), "auto") << task;
    EXPECT_EQ(value_of("tqc" + end, "drop_per_critic"), drop) << task;
    EXPECT_EQ(value_of("tqc" + end, "num_quantiles"), 25) << task;
    EXPECT_EQ(value_of("tqc" + end, "hidden_sizes"), (std::vector<int>{512, 512, 512})) << task;
    EXPECT_EQ(value_of("td3" + end, "learning_starts"), 25000) << task;
    EXPECT_EQ(value_of("td3" + end, "exploration_noise"), 0.1) << task;
    for (const char* many : {"redq", "rlpd"}) {
      EXPECT_EQ(value_of(many + end, "num_critics"), 10) << task;
      EXPECT_EQ(value_of(many + end, "num_min_critics"), 2) << task;
      EXPECT_EQ(value_of(many + end, "gradient_updates_per_step"), 20) << task;
      EXPECT_EQ(value_of(many + end, "learning_starts"), 5000) << task;
    }
    EXPECT_EQ(value_of("rlpd" + end, "offline_batch_ratio"), 0.5) << task;
    EXPECT_EQ(value_of("rlpd" + end, "offline_pretrain_updates"), 0) << task;
    EXPECT_EQ(value_of("rlpd" + end, "critic_layer_norm"), true) << task;
    EXPECT_EQ(value_of("rlpd" + end, "normalize_observations"), false) << task;
  }
}

// The hash ignores the length of a run and keys that do not affect results. A change of any other
// key changes the hash.
TEST(ConfigHash, LeavesOutOnlyWhatDecidesNoNumber) {
  const auto hash_with = [](const std::string& assignment) {
    auto root = read_yaml(kEverything, "c.yaml");
    if (!assignment.empty()) set_config_value(root, assignment);
    return config_hash(read_train_config(root));
  };
  const auto hash = hash_with("");
  for (const char* same : {"threads=7", "output_dir=elsewhere", "total_timesteps=5", "tags=[x]"}) {
    EXPECT_EQ(hash_with(same), hash) << same;
  }
  const auto online = [&](const char* steps) { return hash_with(std::string("online=") + steps); };
  EXPECT_EQ(online("5"), online("6"));
  EXPECT_NE(online("5"), hash);
  for (const char* other : {"seed=1",
                            "device=cpu",
                            "num_envs=1",
                            "eval_episodes=1",
                            "eval_interval=1",
                            "log_interval=1",
                            "checkpoint_interval=1",
                            "batch_size=1",
                            "hidden_sizes=[1]",
                            "learning_rate=1",
                            "gamma=1",
                            "tau=0.5",
                            "bc_alpha=1",
                            "policy_noise=1",
                            "noise_clip=1",
                            "policy_delay=1",
                            "learning_rate_schedule=cosine",
                            "learning_rate_schedule.end=0.2",
                            "warmup_steps=1",
                            "max_updates=1",
                            "max_epochs=",
                            "min_buffer_size=1",
                            "early_stopping.patience=1",
                            "early_stopping=",
                            "dataset_size=1",
                            "dataset_seed=1",
                            "dataset_id=pendulum/expert",
                            "normalize_observations=true"}) {
    EXPECT_NE(hash_with(other), hash) << other;
  }
}

}  // namespace
}  // namespace rl_training::test_resolved_config
