#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/page_blocks.h"
#include "tests/support/program.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> runs_in(const std::string& directory) {
  std::vector<std::string> runs;
  if (!fs::exists(directory)) return runs;
  for (const auto& entry : fs::directory_iterator(directory)) runs.push_back(entry.path().string());
  std::sort(runs.begin(), runs.end());
  return runs;
}

// docs/robot.md, command by command, up to three trained candidates.
class RobotPage : public testing::Test {
 protected:
  RobotPage() { input_.working_directory = directory_.path(); }

  // RUN is the first candidate.
  ProgramResult run_line(const std::string& line) {
    auto words = words_of(line);
    EXPECT_EQ(words.at(0), "rl_training") << line;
    words.erase(words.begin());
    const auto runs = runs_in(directory_ / "candidates");
    for (auto& word : words) {
      if (word == "RUN") word = runs.at(0);
    }
    const auto result = run(words, input_);
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
    return result;
  }
  void follow(const std::string& heading) {
    for (const auto& block : blocks_below("robot.md", heading)) {
      if (!block.name.empty()) write_all(directory_ / block.name, block.text);
      std::istringstream lines(block.name.empty() ? block.text : "");
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("rl_training")) results_.push_back(run_line(line));
      }
    }
  }

  TemporaryDirectory directory_;
  Program::Input input_;
  std::vector<ProgramResult> results_;
};

TEST_F(RobotPage, TrainsCandidatesFromACsvWithoutAnEnvironment) {
  follow("## The log");
  fs::create_directories(directory_ / "archive");
  fs::copy(directory_ / "heater.csv", directory_ / "archive/heater.csv");
  fs::copy(directory_ / "heater.csv", directory_ / "new.csv");
  follow("## Look at it");
  follow("## Train candidates");
  ASSERT_EQ(results_.size(), 8u);
  EXPECT_NE(results_[1].err.find("validation  td_error "), std::string::npos) << results_[1].err;
  EXPECT_NE(results_[1].out.find("validation action error"), std::string::npos) << results_[1].out;
  EXPECT_EQ(results_[1].out.find(" evaluate "), std::string::npos) << results_[1].out;
  EXPECT_EQ(runs_in(directory_ / "candidates").size(), 4u);  // three, and one that began from one
  EXPECT_EQ(runs_in(directory_ / "elsewhere").size(), 1u);
  const auto action = results_.back().json()["action"][0].get<double>();
  EXPECT_TRUE(action >= 0 && action <= 100) << action;
}

TEST_F(RobotPage, WhatNeedsAnEnvironmentIsRefusedInOneLine) {
  follow("## The log");
  for (const auto& block : blocks_below("robot.md", "## Train candidates")) {
    if (!block.name.empty()) write_all(directory_ / block.name, block.text);
  }
  run_line("rl_training train --config heater.yaml --set total_timesteps=5 --quiet");
  const auto candidate = runs_in(directory_ / "candidates").at(0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"evaluate", candidate},
        {"render", candidate, "--output", directory_ / "film.gif"},
        {"dataset", "collect", directory_ / "more.npz", "--policy", candidate},
        {"resume", candidate, "--online", "10"},
        {"train", "--config", directory_ / "heater.yaml", "--set", "eval_episodes=3"}}) {
    const auto result = run(words, input_);
    EXPECT_EQ(result.exit_code, 2) << words[0] << result.err;
    EXPECT_TRUE(result.one_error_line()) << result.err;
    EXPECT_NE(result.err.find("environment"), std::string::npos) << result.err;
  }
  const auto strict = run({"train", "--config", "heater.yaml", "--strict-data", "--set",
                           "csv_columns=obs=temp,stopped action=power reward=reward "
                           "terminated=stopped timeout=cut episode=run"},
                          input_);
  EXPECT_EQ(strict.exit_code, 3) << strict.err;  // a column that never changes
}

}  // namespace
}  // namespace rl_training
