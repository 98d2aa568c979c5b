#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/program.h"

namespace rl_training {
namespace {

// Writes the config of a sweep of tiny runs to `directory` and returns the path of the file.
std::string sweep_file(const TemporaryDirectory& directory, const std::string& search) {
  const auto path = directory / "sweep.yaml";
  write_all(path,
            "config: td3_bc/pendulum-random\n"
            "set: {hidden_sizes: [8], dataset_size: 300, batch_size: 16, eval_episodes: 1,\n"
            "      eval_interval: 10, log_interval: 10, checkpoint_interval: 10}\n"
            "total_timesteps: 40\noutput_dir: " +
                (directory / "out") + "\n" + search);
  return path;
}

TEST(Sweep, AGridIsTrainedAndReported) {
  const TemporaryDirectory directory;
  const auto file = sweep_file(directory, "grid: {learning_rate: [1e-4, 1e-2]}\nseeds: 0-1\n");
  const auto plan = run({"sweep", file, "--dry-run", "--json"});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  ASSERT_EQ(plan.json()["runs"].size(), 4U);
  EXPECT_EQ(plan.json()["runs"][3]["label"], "learning_rate=1e-2");
  EXPECT_EQ(plan.json()["runs"][3]["config"]["algo_kwargs"]["learning_rate"], 0.01);
  EXPECT_FALSE(std::filesystem::exists(directory / "out"));

  const auto result = run({"sweep", file, "--jobs", "2", "--quiet", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto trials = result.json()["trials"];
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_EQ(result.json()["best"], trials[0]["trial"]);
  EXPECT_GE(trials[0]["value"], trials[1]["value"]);
  const auto report = run({"report", directory / "out", "--json"}).json();
  ASSERT_EQ(report["groups"].size(), 2U);
  EXPECT_NEAR(report["groups"][0]["mean"], trials[0]["value"], 1e-9);
  EXPECT_EQ(report["groups"][0]["seeds"], 2);

  const auto table = run({"sweep", file, "--jobs", "1"});
  EXPECT_NE(table.err.find("4 of 4 runs are already done"), std::string::npos) << table.err;
  EXPECT_NE(table.out.find("2 of 2 done"), std::string::npos) << table.out;
  const auto status = run({"sweep", "status", directory / "out", "--json"}).json();
  EXPECT_EQ(status["states"]["done"], 4);
  EXPECT_EQ(status["runs"][0]["position"], 40);
}

TEST(Sweep, HalvingTrainsTheBestToTheEndOnly) {
  const TemporaryDirectory directory;
  const auto file = sweep_file(directory,
                               "random: {learning_rate: {log_uniform: [1e-4, 1e-2]}}\ntrials: 4\n"
                               "halving: {min_timesteps: 10, factor: 2}\nsweep_seed: 3\n");
  const auto result = run({"sweep", file, "--jobs", "2", "--quiet", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto trials = result.json()["trials"];
  ASSERT_EQ(trials.size(), 4U);
  EXPECT_EQ(trials[0]["stopped_at"], nullptr);
  EXPECT_EQ(trials[1]["stopped_at"], 20);
  EXPECT_EQ(trials[2]["stopped_at"], 10);
  EXPECT_EQ(trials[3]["stopped_at"], 10);
  const auto status = run({"sweep", "status", directory / "out", "--json"}).json();
  EXPECT_EQ(status["states"]["done"], 1);
  EXPECT_EQ(status["states"]["paused"], 3);
  // The run of the best trial equals a run that `train` completes without pauses.
  const auto best = trials[0]["trial"].get<size_t>();
  const auto straight =
      run({"train", "--config", directory / "out/trial-00" + std::to_string(best) + "/trial.yaml",
           "--output-dir", directory / "straight", "--quiet", "--json"});
  const auto rows = [](const Json& run_dir) {
    return read_all(run_dir.get<std::string>() + "/metrics.jsonl");
  };
  EXPECT_EQ(rows(trials[0]["runs"][0]), rows(straight.json()["run_dir"]));
  EXPECT_EQ(run({"sweep", file, "--quiet", "--json"}).json()["trials"], trials);
}

TEST(Sweep, TheSelectionEstimateCanBeTheMetric) {
  const TemporaryDirectory directory;
  const auto file = sweep_file(directory,
                               "grid: {learning_rate: [1e-4, 1e-2]}\nmetric: selection\n"
                               "selection_updates: 5\n");
  const auto result = run({"sweep", file, "--jobs", "2", "--quiet", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto trials = result.json()["trials"];
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_GT(trials[0]["value"], trials[1]["value"]);
  for (const auto& trial : trials) {
    const auto estimates =
        Json::parse(read_all(trial["runs"][0].get<std::string>() + "/selection.json"));
    EXPECT_EQ(estimates["policies"][0]["value"], trial["value"]) << estimates.dump(1);
  }
}

TEST(Sweep, SlurmScriptsAreShownAndMissingCommandsNamed) {
  const TemporaryDirectory directory;
  const auto file = sweep_file(directory, "grid: {learning_rate: [1e-4, 1e-2]}\n");
  const auto shown = run({"sweep", file, "--slurm", "--dry-run", "--partition", "short"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.out.find("#SBATCH --array=0-1\n"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("#SBATCH --partition=short\n"), std::string::npos) << shown.out;
  EXPECT_FALSE(std::filesystem::exists(directory / "out"));
  EXPECT_EQ(run({"sweep", "status", directory / "out"}).exit_code, 6);
}

}  // namespace
}  // namespace rl_training
