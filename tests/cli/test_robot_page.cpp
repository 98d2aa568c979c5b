#include <gtest/gtest.h>

#include <cstdlib>
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

// Runs the commands of docs/robot.md in order.
class RobotPage : public testing::Test {
 protected:
  RobotPage() { input_.working_directory = directory_.path(); }

  // Runs one command of the page. RUN stands for the first candidate or, after the ranking, for the
  // best candidate.
  ProgramResult run_line(const std::string& line) {
    const auto words = words_of(line);
    EXPECT_EQ(words.at(0), "rl_training") << line;
    const auto runs = runs_in(directory_ / "candidates");
    std::vector<std::string> arguments;
    for (size_t i = 1; i < words.size(); ++i) {
      if (words[i] == "candidates/*") {
        arguments.insert(arguments.end(), runs.begin(), runs.end());
      } else {
        arguments.push_back(words[i] != "RUN" ? words[i] : best_.empty() ? runs.at(0) : best_);
      }
    }
    const auto result = run(arguments, input_);
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
    return result;
  }
  void follow(const std::string& heading) {
    for (const auto& block : blocks_below("robot.md", heading)) {
      if (!block.name.empty()) write_all(directory_ / block.name, block.text);
      std::istringstream lines(block.name.empty() ? block.text : "");
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("rl_training")) results_.push_back(run_line(line));
        if (line.starts_with("cc ") || line.starts_with("./")) shell(line);
      }
    }
  }
  void shell(const std::string& line) {
    const auto there = "cd '" + directory_.path() + "' && " + line;
    EXPECT_EQ(std::system(there.c_str()), 0) << line;
    ++shell_lines_;
  }

  TemporaryDirectory directory_;
  Program::Input input_;
  std::vector<ProgramResult> results_;
  std::string best_;
  int shell_lines_ = 0;
};

TEST_F(RobotPage, FromACsvToAPolicyInC) {
  follow("## The log");
  fs::create_directories(directory_ / "archive");
  fs::copy(directory_ / "heater.csv", directory_ / "archive/heater.csv");
  fs::copy(directory_ / "heater.csv", directory_ / "new.csv");
  follow("## Inspect it");
  follow("## Train candidates");
  ASSERT_EQ(results_.size(), 8u);
  EXPECT_NE(results_[1].err.find("validation  td_error "), std::string::npos) << results_[1].err;
  EXPECT_NE(results_[1].out.find("validation action error"), std::string::npos) << results_[1].out;
  EXPECT_EQ(results_[1].out.find(" evaluate "), std::string::npos) << results_[1].out;
  EXPECT_EQ(runs_in(directory_ / "candidates").size(), 4u);  // three runs and a warm-started run
  EXPECT_EQ(runs_in(directory_ / "elsewhere").size(), 1u);
  const auto action = results_.back().json()["action"][0].get<double>();
  EXPECT_TRUE(action >= 0 && action <= 100) << action;

  follow("## Choose a policy");
  const auto chosen = Json::parse(read_all(directory_ / "selection/selection.json"));
  ASSERT_EQ(chosen["policies"].size(), 4u);
  for (const auto& policy : chosen["policies"]) {
    if (policy["rank"] == 1.0) best_ = policy["run"].get<std::string>();
  }
  ASSERT_FALSE(best_.empty());
  if (std::system("cc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no cc";
  follow("## Export it");
  EXPECT_EQ(shell_lines_, 2);  // the compiler call and the self-test
  const auto header = read_all(directory_ / "policy.h");
  EXPECT_NE(header.find("observation: temp, rate\n"), std::string::npos);
  EXPECT_NE(header.find("action: power\n"), std::string::npos);
  // Compiles the header and compares its action with `predict`. The tolerance is 1e-5 of half the
  // action range.
  write_all(directory_ / "answer.c",
            "#include \"policy.h\"\n#include <stdio.h>\n"
            "int main(void) {\n"
            "  const float obs[POLICY_OBS_DIM] = {31.0f, 0.5f};\n"
            "  float action[POLICY_ACTION_DIM];\n"
            "  policy_act(obs, action);\n"
            "  return printf(\"%.9g\\n\", action[0]) < 0;\n}\n");
  shell("cc -std=c99 -Wall -Werror -o answer answer.c -lm && ./answer > answer.txt");
  const auto predicted = run({"predict", best_, "--obs", "[31.0, 0.5]"}, input_).json();
  EXPECT_NEAR(std::stod(read_all(directory_ / "answer.txt")), predicted["action"][0].get<double>(),
              50e-5);
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
  // With --strict-data, the warning that `stopped` never changes is an error.
  EXPECT_EQ(strict.exit_code, 3) << strict.err;
}

}  // namespace
}  // namespace rl_training
