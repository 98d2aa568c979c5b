#include <gtest/gtest.h>

#include "rl_training/experiment/yaml_reader.h"
#include "rl_training/sweep/sweep_spec.h"

namespace rl_training {
namespace {

SweepSpec spec_of(const std::string& yaml) { return read_sweep_spec(read_yaml(yaml, "s.yaml")); }

std::string problem_of(const std::string& yaml) {
  try {
    make_trials(spec_of(yaml));
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
}

constexpr char kGrid[] = "config: td3_bc/pendulum\ngrid: {learning_rate: [1e-4, 1e-3]}\n";

TEST(SweepSpec, TrialsAreTheConfigWithTheirSettings) {
  const auto spec = spec_of(
      "config: td3_bc/pendulum\nset: {batch_size: 64, eval_interval: 500}\nseeds: 3-4\n"
      "grid: {learning_rate: [1e-4, 1e-3], bc_alpha: [1, 2]}\ntotal_timesteps: 2000\n");
  const auto trials = make_trials(spec);
  ASSERT_EQ(trials.size(), 4U);
  EXPECT_EQ(spec.seeds, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(spec.output_dir, "runs/s");
  EXPECT_EQ(trials[1].label(), "learning_rate=1e-4 bc_alpha=2");
  EXPECT_EQ(trials[2].config.algorithm->learning_rate, 1e-3);
  EXPECT_EQ(trials[2].config.algorithm->batch_size, 64);
  EXPECT_EQ(trials[2].config.eval_interval, 500);
  EXPECT_EQ(trials[2].config.total_timesteps, 2000);
  EXPECT_EQ(trials[2].config.seed, 3);
}

TEST(SweepSpec, ConfigsCanBeSearchedOver) {
  const auto trials = make_trials(
      spec_of("grid: {config: [td3_bc/pendulum, iql/pendulum], learning_rate: [1e-4]}\n"));
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_EQ(trials[0].config.algo, "td3_bc");
  EXPECT_EQ(trials[1].config.algo, "iql");
}

TEST(SweepSpec, WhatIsWrongIsNamedWithItsLine) {
  EXPECT_EQ(problem_of(kGrid), "");
  const std::pair<std::string, const char*> cases[] = {
      {std::string(kGrid) + "metirc: x\n",
       "s.yaml:3: metirc: unknown key (did you mean `metric`?)"},
      {std::string(kGrid) + "metric: eval_retrun_mean\n", "did you mean `eval_return_mean`?"},
      {std::string(kGrid) + "set: {eval_episodes: 0}\n", "metric: needs evaluations"},
      {std::string(kGrid) + "mode: biggest\n", "s.yaml:3: mode: unknown choice"},
      {std::string(kGrid) + "seeds: [1, 1]\n", "s.yaml:3: seeds: seed 1 occurs twice"},
      {std::string(kGrid) + "trials: 3\n", "trials: not used by `grid`"},
      {std::string(kGrid) + "random: {bc_alpha: [1]}\n", "excludes `grid`"},
      {"config: td3_bc/pendulum\nrandom: {bc_alpha: [1]}\n", "trials: missing"},
      {"grid: {bc_alpha: [1]}\n", "config: missing"},
      {"config: td3_bc/pendulm\ngrid: {bc_alpha: [1]}\n", "s.yaml:1: config: no such file"},
      {"config: td3_bc/pendulum\ngrid: {bc_alhpa: [1]}\n", "did you mean `bc_alpha`?"},
      {"config: td3_bc/pendulum\ngrid: {bc_alpha: [-1]}\n", "s.yaml:2: algo_kwargs.bc_alpha"},
      {"config: td3_bc/pendulum\ngrid: {seed: [1]}\n", "seed: not a key to search over"},
      {std::string(kGrid) + "halving: {factor: 1}\n", "halving.factor: out of range"},
  };
  for (const auto& [yaml, message] : cases) {
    EXPECT_NE(problem_of(yaml).find(message), std::string::npos) << yaml << problem_of(yaml);
  }
}

TEST(SweepSpec, HalvingNeedsTrialsOfOneLength) {
  const std::string yaml =
      "config: td3_bc/pendulum\ngrid: {eval_interval: [500, 1000]}\nhalving: 1000\n";
  EXPECT_NE(problem_of(yaml).find("halving: trials differ in length"), std::string::npos);
}

TEST(Halving, RungsAreMultiplesOfTheInterval) {
  using Rungs = std::vector<std::optional<int64_t>>;
  const auto rungs = [](bool used, int64_t length, int64_t interval) {
    return rung_positions({{used, 300, 3}, MetricMode::max, length, interval, 9});
  };
  EXPECT_EQ(rungs(true, 10000, 500), (Rungs{500, 1000, 3000, 8500, std::nullopt}));
  EXPECT_EQ(rungs(true, 900, 100), (Rungs{300, std::nullopt}));
  EXPECT_EQ(rungs(false, 900, 100), Rungs{std::nullopt});
}

TEST(Halving, TheBestStay) {
  using Values = TrialValues;
  using Trials = std::vector<size_t>;
  const Trials trials = {1, 4, 6, 7};
  const Values values = {-3.0, std::nullopt, 2.0, -3.0};
  EXPECT_EQ(survivors(trials, values, 2, MetricMode::max), (Trials{1, 6}));
  EXPECT_EQ(survivors(trials, values, 3, MetricMode::min), (Trials{1, 7}));
  EXPECT_EQ(survivors(trials, values, 100, MetricMode::max), Trials{6});
  EXPECT_EQ(ranked(trials, values, MetricMode::max), (Trials{6, 1, 7, 4}));
}

}  // namespace
}  // namespace rl_training
