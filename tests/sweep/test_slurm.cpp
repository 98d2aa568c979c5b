#include <gtest/gtest.h>

#include "rl_training/experiment/yaml_reader.h"
#include "rl_training/sweep/slurm.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

SweepDirectory make_sweep(const std::string& path, const std::string& more = "") {
  auto spec = read_sweep_spec(read_yaml(
      "config: td3_bc/pendulum\ngrid: {bc_alpha: [1, 2]}\nseeds: 0-1\nretries: 1\n" + more, "s"));
  spec.output_dir = path;
  return SweepDirectory::create(posix_file_system(), spec, make_trials(spec));
}

// Writes a run directory whose only row of metrics is at update `updates`.
void write_run(const PlannedRun& run, int64_t updates) {
  const auto path = run.config.output_dir + "/" + "td3_bc__Pendulum-v1__seed" +
                    std::to_string(run.config.seed) + "__x";
  std::filesystem::create_directories(path);
  auto config = posix_file_system().read_file(run.config.output_dir + "/trial.yaml");
  const auto at = config.find("\nseed: 0");
  config.replace(at, 8, "\nseed: " + std::to_string(run.config.seed));
  write_all(path + "/config.yaml", config);
  write_all(path + "/metadata.json", "{}");
  write_all(path + "/metrics.jsonl", "{\"global_step\": " + std::to_string(updates) +
                                         ", \"update_count\": " + std::to_string(updates) +
                                         ", \"eval_return_mean\": -" + std::to_string(updates) +
                                         "}\n");
}

TEST(Slurm, ScriptsHoldWhatWasAsked) {
  const TemporaryDirectory directory;
  const auto sweep = make_sweep(directory / "my sweep");
  const SlurmOptions options{"short", "1:00:00", 2, 3};
  const auto script = array_script(sweep, {0, 1, 3}, "/opt/rl training", options);
  for (const auto& line :
       {"#!/bin/sh\n", "#SBATCH --array=0-1,3%2\n", "#SBATCH --partition=short\n",
        "#SBATCH --time=1:00:00\n", "#SBATCH --cpus-per-task=3\n", "#SBATCH --requeue\n",
        "#SBATCH --signal=B:TERM@60\n", "exec '/opt/rl training' sweep task '"}) {
    EXPECT_NE(script.find(line), std::string::npos) << line << script;
  }
  const auto plain = array_script(sweep, {2}, "p", {});
  EXPECT_NE(plain.find("#SBATCH --array=2\n"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("--time"), std::string::npos) << plain;
}

TEST(Slurm, NumbersAsRanges) {
  EXPECT_EQ(number_ranges({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(number_ranges({4}), "4");
}

TEST(Slurm, RunsWithoutProgressAreGivenUpAfterTheirRetries) {
  const TemporaryDirectory directory;
  auto sweep = make_sweep(directory / "sweep");
  const auto plan = [&] { return plan_submission(sweep, posix_file_system(), {}); };
  const std::vector<size_t> all = {0, 1, 2, 3}, others = {0, 1, 3};
  EXPECT_EQ(plan().runs, all);
  write_run(sweep.run(2, 1), 10000);  // run 2 is complete
  EXPECT_EQ(plan().runs, others);     // the only retry of runs 0, 1 and 3
  write_run(sweep.run(1, 1), 500);    // run 1 has made progress
  const auto third = plan();
  EXPECT_EQ(third.runs, std::vector<size_t>{1});
  EXPECT_EQ(third.given_up, (std::vector<size_t>{0, 3}));
}

TEST(SweepDirectory, IsReadBackAsItWasSaved) {
  const TemporaryDirectory directory;
  auto sweep = make_sweep(directory / "sweep", "halving: {min_timesteps: 1000, factor: 2}\n");
  sweep.slurm().array = "17";
  sweep.slurm().attempts[3] = {2, 40};
  auto round = sweep.present_round();
  round.values = {-2.5, std::nullopt};
  sweep.finish_round(round);
  auto again = SweepDirectory::open(posix_file_system(), directory / "sweep");
  EXPECT_EQ(again.run_count(), 4U);
  EXPECT_EQ(again.slurm().array, "17");
  EXPECT_EQ(again.slurm().attempts.at(3).position, 40);
  ASSERT_EQ(again.past_rounds().size(), 1U);
  EXPECT_EQ(again.past_rounds()[0].values[0], -2.5);
  EXPECT_EQ(again.present_round().trials, std::vector<size_t>{0});
  EXPECT_EQ(again.present_round().pause_at, 2000);
  EXPECT_EQ(again.run(3, 1).name, "trial 1, seed 1");
  EXPECT_EQ(again.run(3, 1).config.seed, 1);
}

TEST(SweepDirectory, AnotherSweepIsRefusedAndMoreSeedsAreNot) {
  const TemporaryDirectory directory;
  const auto path = directory / "sweep";
  make_sweep(path);
  const auto again = [&](const std::string& yaml) {
    auto spec = read_sweep_spec(read_yaml("config: td3_bc/pendulum\nretries: 1\n" + yaml, "s"));
    spec.output_dir = path;
    return SweepDirectory::create(posix_file_system(), spec, make_trials(spec));
  };
  EXPECT_THROW(again("grid: {bc_alpha: [1, 3]}\nseeds: 0-1\n"), Error);
  EXPECT_EQ(again("grid: {bc_alpha: [1, 2, 3]}\nseeds: 0-2\n").run_count(), 9U);
}

TEST(SweepDirectory, ValuesAreMeansOverAllSeeds) {
  using Values = TrialValues;
  EXPECT_EQ(trial_values({1.0, 2.0, 3.0, std::nullopt}, 2), (Values{1.5, std::nullopt}));
  const TemporaryDirectory directory;
  const auto sweep = make_sweep(directory / "sweep");
  write_run(sweep.run(1, 1), 500);
  const auto value = [&](size_t run, std::optional<int64_t> at) {
    return run_value(posix_file_system(), sweep.run(run, 1), "eval_return_mean", at);
  };
  EXPECT_EQ(value(1, std::nullopt), -500.0);
  EXPECT_EQ(value(1, 499), std::nullopt);
  EXPECT_EQ(value(0, std::nullopt), std::nullopt);
}

}  // namespace
}  // namespace rl_training
