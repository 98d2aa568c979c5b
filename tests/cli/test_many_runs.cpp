#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "tests/cli/tiny_training.h"
#include "tests/support/program.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

// Returns the run's metrics and the tensors of its last checkpoint. Both must be reproducible.
std::string result_of(const std::string& run_dir) {
  std::string last;
  for (const auto& entry : fs::directory_iterator(run_dir + "/checkpoints")) {
    const auto name = entry.path().filename().string();
    if (name.starts_with("step-")) last = std::max(last, name);
  }
  const auto tensors = read_all(run_dir + "/checkpoints/" + last + "/tensors.safetensors");
  EXPECT_NE(tensors, "");
  return last + read_all(run_dir + "/metrics.jsonl") + tensors;
}

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(ManyRuns, EachEqualsItsSingleRunAndIsSkippedWhenItIsDone) {
  const TemporaryDirectory directory;
  const auto together =
      tiny_training(directory / "runs", {"--seeds", "0-2", "--jobs", "2", "--quiet"});
  const auto result = run(together);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto runs = result.json()["runs"];
  ASSERT_EQ(runs.size(), 3U);
  for (size_t seed = 0; seed < 3; ++seed) {
    const auto alone =
        run(tiny_training(directory / ("alone" + std::to_string(seed)),
                          {"--seed", std::to_string(seed), "--threads", "2", "--quiet"}));
    ASSERT_EQ(alone.exit_code, 0) << alone.err;
    EXPECT_TRUE(result_of(runs[seed]["run_dir"]) == result_of(alone.json()["run_dir"])) << seed;
    EXPECT_EQ(runs[seed]["metrics"], alone.json()["metrics"]);
  }
  const auto again = run(together);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(again.json()["runs"][i]["run_dir"], runs[i]["run_dir"]);
    EXPECT_EQ(again.json()["runs"][i]["update_count"], 60);
    EXPECT_EQ(again.json()["runs"][i]["checkpoint"], runs[i]["checkpoint"]);
  }
  // A different number of timesteps creates a new run.
  const auto longer = run(with(together, {"--total-timesteps", "80"}));
  ASSERT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_NE(longer.json()["runs"][0]["run_dir"], runs[0]["run_dir"]);
}

TEST(ManyRuns, StopWithCheckpointsAndContinue) {
  const TemporaryDirectory directory;
  const std::vector<std::string> length = {"--total-timesteps", "3000"};
  const auto together =
      with(tiny_training(directory / "runs", {"--seeds", "4,5", "--jobs", "2", "--quiet"}), length);
  Program program(together);
  // Waits until both runs have a checkpoint.
  EXPECT_TRUE(becomes_true([&] {
    size_t count = 0;
    if (!fs::exists(directory / "runs")) return false;
    for (const auto& entry : fs::directory_iterator(directory / "runs")) {
      const auto checkpoints = entry.path() / "checkpoints";
      count += fs::exists(checkpoints) && !fs::is_empty(checkpoints) ? 1 : 0;
    }
    return count == 2;
  }));
  program.send(SIGTERM);
  const auto stopped = program.wait();
  EXPECT_EQ(stopped.exit_code, 128 + SIGTERM) << stopped.err;
  const auto stopped_runs = stopped.json()["runs"];
  ASSERT_EQ(stopped_runs.size(), 2u);
  for (const auto& report : stopped_runs) EXPECT_EQ(report["stop_reason"], "signal");

  const auto result = run(together);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto runs = result.json()["runs"];
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(runs[i]["run_dir"], stopped_runs[i]["run_dir"]);
    EXPECT_EQ(runs[i]["update_count"], 3000);
  }
  const auto alone =
      run(with(tiny_training(directory / "alone", {"--seed", "5", "--quiet"}), length));
  EXPECT_TRUE(result_of(runs[1]["run_dir"]) == result_of(alone.json()["run_dir"]));
}

TEST(ManyRuns, AFailedRunDoesNotStopTheOthers) {
  const TemporaryDirectory directory;
  const auto train = [&](const char* seeds) {
    return run(tiny_training(directory / "runs", {"--seeds", seeds, "--jobs", "1", "--quiet"}));
  };
  ASSERT_EQ(train("0-1").exit_code, 0);
  // Damages the metrics, the metadata and all checkpoints of the run with seed 0.
  for (const auto& entry : fs::directory_iterator(directory / "runs")) {
    if (entry.path().string().find("__seed0__") == std::string::npos) continue;
    write_all(entry.path() / "metrics.jsonl", "");
    write_all(entry.path() / "metadata.json", "{}");
    for (const auto& checkpoint : fs::directory_iterator(entry.path() / "checkpoints")) {
      write_all(checkpoint.path() / "manifest.json", "no manifest");
    }
  }
  const auto result = train("0-2");
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_NE(result.err.find("seed 0  failed: "), std::string::npos) << result.err;
  const auto runs = result.json()["runs"];
  EXPECT_EQ(runs[0]["exit_code"], 4);
  EXPECT_EQ(runs[0]["error"]["code"], "checkpoint");
  EXPECT_EQ(runs[1]["update_count"], 60);
  EXPECT_EQ(runs[2]["update_count"], 60);
}

TEST(ManyRuns, ARunPausesAndContinues) {
  const TemporaryDirectory directory;
  const auto begin = tiny_training(directory / "runs", {"--continue", "--quiet"});
  const auto paused = run(with(begin, {"--pause-at", "30"}));
  ASSERT_EQ(paused.exit_code, 0) << paused.err;
  EXPECT_EQ(paused.json()["stop_reason"], "paused");
  EXPECT_EQ(paused.json()["update_count"], 40);
  const auto same = run(with(begin, {"--pause-at", "40"}));
  EXPECT_EQ(same.json()["update_count"], 40);
  EXPECT_EQ(same.json()["run_dir"], paused.json()["run_dir"]);
  const auto ended = run(begin);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.json()["run_dir"], paused.json()["run_dir"]);
  EXPECT_EQ(ended.json()["stop_reason"], "total_timesteps");
  const auto straight = run(tiny_training(directory / "straight", {"--quiet"}));
  EXPECT_TRUE(result_of(ended.json()["run_dir"]) == result_of(straight.json()["run_dir"]));
}

TEST(ManyRuns, JobsNeedSeeds) {
  const auto result = run({"train", "--config", "td3_bc/pendulum", "--jobs", "2"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(result.one_error_line()) << result.err;
  EXPECT_NE(result.err.find("--jobs: needs --seeds"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace rl_training
