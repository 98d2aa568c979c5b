#include <gtest/gtest.h>

#include "rl_training/experiment/packaged_configs.h"
#include "rl_training/experiment/train_config.h"
#include "rl_training/experiment/yaml_reader.h"
#include "rl_training/experiment/yaml_writer.h"
#include "tests/support/temporary_directory.h"

namespace rl_training::test_train_config {
namespace {

TrainConfig read(const std::string& text) { return read_train_config(read_yaml(text, "c.yaml")); }

// Returns the whole line that a user would see, or "no error".
template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2) << error.what();
    return error.what();
  }
  return "no error";
}

const std::string kStart = "algo: td3_bc\nenv_id: Pendulum-v1\n";  // two lines

struct BadConfig {
  const char* text;   // the text after kStart, from line 3 on
  const char* error;  // the start of the error message
};

// Errors in top-level keys.
constexpr BadConfig kBadTop[] = {
    {"total_timestep: 10", "c.yaml:3: total_timestep: unknown key (did you mean `total_timesteps`"},
    {"sede: 1", "c.yaml:3: sede: unknown key (did you mean `seed`?)"},
    {"frobnicate: 1", "c.yaml:3: frobnicate: unknown key (expected one of algo, env_id, seed, "},
    {"batch_size: 64", "c.yaml:3: batch_size: unknown key (did you mean `algo_kwargs.batch_size`"},
    {"bc_alfa: 1", "c.yaml:3: bc_alfa: unknown key (did you mean `algo_kwargs.bc_alpha`?)"},
    {"seed: -1", "c.yaml:3: seed: out of range (expected a whole number >= 0, got -1)"},
    {"seed: 1.5", "c.yaml:3: seed: not a whole number (expected a whole number >= 0, got 1.5)"},
    {"seed: \"3\"", "c.yaml:3: seed: not a whole number (expected a whole number >= 0, got \"3\")"},
    {"seed: 9223372036854775808", "c.yaml:3: seed: not a whole number "},
    {"seed:", "c.yaml:3: seed: not a whole number (expected a whole number >= 0, got nothing)"},
    {"total_timesteps: 0", "c.yaml:3: total_timesteps: out of range (expected a whole number >= 1"},
    {"total_timesteps: [5]", "c.yaml:3: total_timesteps: not a whole number "},
    {"threads: 1025", "c.yaml:3: threads: out of range (expected a whole number >= 0 and <= 1024"},
    {"num_envs: 0",
     "c.yaml:3: num_envs: out of range (expected a whole number >= 1 and <= 4096, got 0)"},
    {"eval_episodes: -1", "c.yaml:3: eval_episodes: out of range "},
    {"eval_interval: 0", "c.yaml:3: eval_interval: out of range "},
    {"log_interval: 0", "c.yaml:3: log_interval: out of range "},
    {"checkpoint_interval: 0", "c.yaml:3: checkpoint_interval: out of range "},
    {"device: gpu", "c.yaml:3: device: unknown choice (expected cpu | auto, got gpu; did "},
    {"device: cuda", "c.yaml:3: device: unknown choice (expected cpu | auto, got cuda)"},
    {"tags: mine", "c.yaml:3: tags: not a list (expected a list of texts, got mine)"},
    {"output_dir: {a: 1}", "c.yaml:3: output_dir: not a text (expected a text, got {a: 1})"},
    {"algo_kwargs: 3", "c.yaml:3: algo_kwargs: not a map (expected a map of keys, got 3)"},
    {"env_kwargs: [1]", "c.yaml:3: env_kwargs: not a map (expected a map of keys, got [1])"},
    {"env_kwargs: {gravity: 1}", "c.yaml:3: env_kwargs.gravity: unknown key for Pendulum-v1 "},
    {"env_kwargs: {max_episode_steps: 0}", "c.yaml:3: env_kwargs.max_episode_steps: out of range "},
    {"env_kwargs: {seed: 1}", "c.yaml:3: env_kwargs.seed: unknown key for Pendulum-v1 (did you "},
    {"env_kwargs: {wrappers: {reward: {preset: clip_1, clip: [2, null]}}}",
     "c.yaml:3: env_kwargs.wrappers.reward.clip: the lower bound is above the upper bound "},
    {"seed: 1\nlog_interval: 5\nseed: 2",
     "c.yaml:5: seed: the key is given twice (first given in line 3)"},
    {"algo: td3_bc", "c.yaml:3: algo: the key is given twice (first given in line 1)"},
    {"seed: &a 1", "c.yaml:3: seed: anchors are not supported (got `&a`)"},
    {"seed: *a", "c.yaml:3: aliases are not supported"},
    {"seed: !!int 1", "c.yaml:3: seed: tags are not supported "},
    {"---\nseed: 1", "c.yaml:3: a second document starts here (expected one document)"},
    {"seed: [1", "c.yaml:"},
};

// Errors in entries of algo_kwargs, which are in line 4.
constexpr BadConfig kBadKwargs[] = {
    {"bach_size: 64", "c.yaml:4: algo_kwargs.bach_size: unknown key (did you mean `batch_size`?)"},
    {"seed: 1", "c.yaml:4: algo_kwargs.seed: unknown key (did you mean `seed`?)"},
    {"env_id: Pendulum-v1", "c.yaml:4: algo_kwargs.env_id: unknown key (did you mean `env_id`?)"},
    {"expectile: 0.7", "c.yaml:4: algo_kwargs.expectile: unknown key (expected one of batch_size,"},
    {"batch_size: 0", "c.yaml:4: algo_kwargs.batch_size: out of range "},
    {"batch_size: many", "c.yaml:4: algo_kwargs.batch_size: not a whole number "},
    {"hidden_sizes: 256", "c.yaml:4: algo_kwargs.hidden_sizes: not a list of whole numbers "},
    {"hidden_sizes: []", "c.yaml:4: algo_kwargs.hidden_sizes: not a list of whole numbers "},
    {"hidden_sizes: [256, 0]", "c.yaml:4: algo_kwargs.hidden_sizes: out of range "},
    {"hidden_sizes: [256, 1.5]", "c.yaml:4: algo_kwargs.hidden_sizes: not a whole number "},
    {"learning_rate: 0", "c.yaml:4: algo_kwargs.learning_rate: out of range (expected a number > "},
    {"learning_rate: -1e-3", "c.yaml:4: algo_kwargs.learning_rate: out of range "},
    {"learning_rate: fast", "c.yaml:4: algo_kwargs.learning_rate: not a number "},
    {"learning_rate: .nan", "c.yaml:4: algo_kwargs.learning_rate: not a number "},
    {"gamma: 1.01", "c.yaml:4: algo_kwargs.gamma: out of range (expected a number >= 0 and <= 1, "},
    {"gamma: -0.01", "c.yaml:4: algo_kwargs.gamma: out of range "},
    {"tau: 0", "c.yaml:4: algo_kwargs.tau: out of range (expected a number > 0 and <= 1, got 0)"},
    {"tau: 1.5", "c.yaml:4: algo_kwargs.tau: out of range "},
    {"bc_alpha: 0", "c.yaml:4: algo_kwargs.bc_alpha: out of range (expected a number > 0, got 0)"},
    {"bc_alpha: -1", "c.yaml:4: algo_kwargs.bc_alpha: out of range "},
    {"bc_alpha: inf", "c.yaml:4: algo_kwargs.bc_alpha: not a number "},
    {"policy_delay: 0", "c.yaml:4: algo_kwargs.policy_delay: out of range "},
    {"policy_delay: 2.5", "c.yaml:4: algo_kwargs.policy_delay: not a whole number "},
    {"policy_noise: -0.1", "c.yaml:4: algo_kwargs.policy_noise: out of range "},
    {"noise_clip: -0.1", "c.yaml:4: algo_kwargs.noise_clip: out of range "},
    {"max_updates: 0", "c.yaml:4: algo_kwargs.max_updates: out of range "},
    {"max_epochs: 0", "c.yaml:4: algo_kwargs.max_epochs: out of range "},
    {"min_buffer_size: -1", "c.yaml:4: algo_kwargs.min_buffer_size: out of range "},
    {"warmup_steps: -1", "c.yaml:4: algo_kwargs.warmup_steps: out of range "},
    {"learning_rate_schedule: cosinus",
     "c.yaml:4: algo_kwargs.learning_rate_schedule.type: unknown choice (expected constant | "
     "linear "
     "| cosine, got cosinus; did you mean `cosine`?)"},
    {"learning_rate_schedule: [linear]",
     "c.yaml:4: algo_kwargs.learning_rate_schedule: not a map "},
    {"learning_rate_schedule: {type: linear, stop: 0}",
     "c.yaml:4: algo_kwargs.learning_rate_schedule.stop: unknown key (expected one of type, "
     "start,"},
    {"learning_rate_schedule: {type: linear, start: -1}",
     "c.yaml:4: algo_kwargs.learning_rate_schedule.start: out of range "},
    {"early_stopping: true", "c.yaml:4: algo_kwargs.early_stopping: not a map "},
    {"early_stopping: {patiance: 3}",
     "c.yaml:4: algo_kwargs.early_stopping.patiance: unknown key (did you mean `patience`?)"},
    {"early_stopping: {patience: 0}",
     "c.yaml:4: algo_kwargs.early_stopping.patience: out of range "},
    {"early_stopping: {mode: best}",
     "c.yaml:4: algo_kwargs.early_stopping.mode: unknown choice (expected max | min, got best"},
    {"early_stopping: {min_delta: -1}",
     "c.yaml:4: algo_kwargs.early_stopping.min_delta: out of range "},
    {"early_stopping: {min_steps: -1}",
     "c.yaml:4: algo_kwargs.early_stopping.min_steps: out of range "},
    {"early_stopping: {target_value: high}",
     "c.yaml:4: algo_kwargs.early_stopping.target_value: not a number "},
    {"early_stopping: {metric: eval_retrun_mean}",
     "c.yaml:4: algo_kwargs.early_stopping.metric: no such metric: eval_retrun_mean (expected one "
     "of "},
    {"dataset_kind: recipe\n  dataset_id: pendulum/mediun",
     "c.yaml:5: algo_kwargs.dataset_id: unknown recipe (expected one of "},
    {"dataset_kind: randon",
     "c.yaml:4: algo_kwargs.dataset_kind: unknown choice (expected random | recipe | auto | d4rl"},
    {"dataset_kind: npz", "c.yaml:3: algo_kwargs.dataset_path: missing (dataset_kind: npz needs "},
    {"dataset_kind: recipe", "c.yaml:3: algo_kwargs.dataset_id: missing (dataset_kind: recipe "},
    {"dataset_path: a.npz", "c.yaml:4: algo_kwargs.dataset_path: not used by dataset_kind: random"},
    {"dataset_id: pendulum/medium",
     "c.yaml:4: algo_kwargs.dataset_id: not used by dataset_kind: random"},
    {"dataset_kind: npz\n  dataset_path: a.npz\n  dataset_size: 5",
     "c.yaml:6: algo_kwargs.dataset_size: not used by dataset_kind: npz"},
    {"dataset_keys: {obs: state}",
     "c.yaml:4: algo_kwargs.dataset_keys: not used by dataset_kind: random"},
    {"dataset_size: -1", "c.yaml:4: algo_kwargs.dataset_size: out of range "},
    {"dataset_seed: -1", "c.yaml:4: algo_kwargs.dataset_seed: out of range "},
    {"normalize_observations: yes",
     "c.yaml:4: algo_kwargs.normalize_observations: not a switch (expected true or false, got "
     "yes)"},
    {"batch_size: 1\n  gamma: 0.9\n  batch_size: 2",
     "c.yaml:6: algo_kwargs.batch_size: the key is given twice (first given in line 4)"},
};

void expect_begins(const std::string& got, const std::string& begin, const std::string& text) {
  EXPECT_TRUE(got.starts_with(begin)) << text << "\n  got      " << got << "\n  expected " << begin;
  EXPECT_EQ(got.find('\n'), std::string::npos) << got;
}

TEST(BadConfig, OfTheTopLevelIsRefusedAtItsLine) {
  for (const auto& bad : kBadTop) {
    const auto text = kStart + bad.text + "\n";
    expect_begins(error_of([&] { read(text); }), bad.error, text);
  }
}

TEST(BadConfig, OfAlgoKwargsIsRefusedAtItsLine) {
  for (const auto& bad : kBadKwargs) {
    const auto text = kStart + "algo_kwargs:\n  " + bad.text + "\n";
    expect_begins(error_of([&] { read(text); }), bad.error, text);
  }
}

TEST(BadConfig, NamesMustBeThereAndKnown) {
  const std::pair<const char*, const char*> table[] = {
      {"env_id: Pendulum-v1\n", "c.yaml:1: algo: missing (expected for example algo: td3_bc)"},
      {"seed: 3\nalgo: td3_bc\n", "c.yaml:1: env_id: missing (expected for example env_id: "},
      {"algo: td3bc\nenv_id: Pendulum-v1\n", "c.yaml:1: algo: unknown algorithm (expected "},
      {"algo:\nenv_id: Pendulum-v1\n", "c.yaml:1: algo: not a name (expected for example td3_bc, "},
      {"algo: [td3_bc]\nenv_id: Pendulum-v1\n", "c.yaml:1: algo: not a name "},
      {"algo: td3_bc\nenv_id: Pendulun-v1\n", "c.yaml:2: env_id: unknown environment "},
      {"algo: td3_bc\nenv_id: {a: 1}\n", "c.yaml:2: env_id: not a name "},
      {"", "c.yaml: the file is empty (expected a map of keys)"},
      {"- algo\n", "c.yaml:1: not a map of keys "},
      {"algo td3_bc\n", "c.yaml:1: not a map of keys "},
  };
  for (const auto& [text, error] : table) expect_begins(error_of([&] { read(text); }), error, text);
  EXPECT_NE(
      error_of([] { read("algo: td3bc\nenv_id: Pendulum-v1\n"); }).find("did you mean `td3_bc`?"),
      std::string::npos);
  EXPECT_NE(error_of([] {
              read("algo: td3_bc\nenv_id: Pendulun-v1\n");
            }).find("did you mean `Pendulum-v1`?"),
            std::string::npos);
}

TEST(BadConfig, FilesMustBeThere) {
  expect_begins(error_of([] { load_config("td3_bc/pendulun"); }),
                "td3_bc/pendulun: no such file, and no packaged config of that name (nearest: "
                "td3_bc/pendulum, ",
                "");
  EXPECT_NE(error_of([] { load_config("td3_bc/pendulun"); }).find("see `config list`"),
            std::string::npos);
}

// An assignment on the command line is checked in the same way as a file. Its errors name `--set`.
TEST(SetConfigValue, IsCheckedAsTheFileIs) {
  const std::pair<const char*, const char*> table[] = {
      {"seed=-1", "--set: seed: out of range (expected a whole number >= 0, got -1)"},
      {"batch_size=0", "--set: algo_kwargs.batch_size: out of range "},
      {"algo_kwargs.gamma=2", "--set: algo_kwargs.gamma: out of range "},
      {"bach_size=64", "--set: algo_kwargs.bach_size: unknown key (did you mean `batch_size`?)"},
      {"sede=1", "--set: algo_kwargs.sede: unknown key (did you mean `seed`?)"},
      {"early_stopping.patience=0", "--set: algo_kwargs.early_stopping.patience: out of range "},
      {"early_stopping={patience: 0}", "--set: algo_kwargs.early_stopping.patience: out of range "},
      {"learning_rate_schedule=cosinus", "--set: algo_kwargs.learning_rate_schedule.type: "},
      {"dataset_kind=npz", "--set: algo_kwargs.dataset_path: missing "},
      {"hidden_sizes=[64", "--set: "},
      {"env_id=Pendulun-v1", "--set: env_id: unknown environment "},
      {"seed.x=1", "--set: seed.x: `seed` is a single value, not a map of keys"},
      {"seed", "--set: not an assignment (expected key=value, got seed)"},
      {"=3", "--set: not an assignment (expected key=value, got =3)"},
  };
  for (const auto& [assignment, error] : table) {
    const auto got = error_of([&] {
      auto root = read_yaml(kStart + "seed: 0\n", "c.yaml");
      set_config_value(root, assignment);
      read_train_config(root);
    });
    expect_begins(got, error, assignment);
  }
}

TEST(SetConfigValue, OverridesAddsAndFindsItsLevel) {
  auto root = read_yaml(kStart + "seed: 5\nalgo_kwargs:\n  batch_size: 7\n", "c.yaml");
  for (const char* assignment :
       {"seed=6", "batch_size=1e3", "algo_kwargs.gamma=0.5", "tags=[a, b]",
        "early_stopping.mode=min", "learning_rate_schedule=linear", "output_dir=\"1e3\"",
        "max_updates=", "env_kwargs.wrappers.reward.clip=none"}) {
    set_config_value(root, assignment);
  }
  const auto config = read_train_config(root);
  EXPECT_EQ(config.seed, 6);
  EXPECT_EQ(config.algorithm->batch_size, 1000);
  EXPECT_EQ(config.algorithm->gamma, 0.5);
  EXPECT_EQ(config.tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(config.early_stopping.enabled);
  EXPECT_EQ(config.early_stopping.mode, EarlyStoppingOptions::Mode::min);
  EXPECT_EQ(config.schedule.type, ScheduleSpec::Type::linear);
  EXPECT_EQ(config.output_dir, "1e3");
  EXPECT_FALSE(config.budget.max_updates.has_value());
}

}  // namespace
}  // namespace rl_training::test_train_config
