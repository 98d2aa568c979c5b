// Tests policies with memory through the command line.
#include <gtest/gtest.h>

#include "tests/support/program.h"

namespace rl_training {
namespace {

// All tests share one tiny run.
class EpisodePolicy : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<TemporaryDirectory>();
    std::vector<std::string> arguments = {
        "train",        "--config",           "decision_transformer/pendulum-random",
        "--output-dir", *directory_ / "runs", "--json"};
    for (const char* assignment :
         {"total_timesteps=20", "embed_dim=8", "num_layers=1", "context_length=4",
          "dataset_size=600", "batch_size=16", "eval_episodes=2", "warmup_steps=0"}) {
      arguments.insert(arguments.end(), {"--set", assignment});
    }
    const auto result = run(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    run_dir_ = result.json()["run_dir"].get<std::string>();
    metrics_ = result.json()["metrics"];
  }
  static void TearDownTestSuite() { directory_.reset(); }

  // Returns the output lines of `predict` for these input lines.
  static std::vector<std::string> predict(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    write_all(*directory_ / "lines.jsonl", text);
    const auto result = run({"predict", run_dir_, "--input", *directory_ / "lines.jsonl"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::vector<std::string> answers;
    std::istringstream out(result.out);
    for (std::string line; std::getline(out, line);) answers.push_back(line);
    return answers;
  }
  static std::string error_of(const std::string& line) {
    write_all(*directory_ / "bad.jsonl", line + "\n");
    const auto result = run({"predict", run_dir_, "--input", *directory_ / "bad.jsonl"});
    EXPECT_EQ(result.exit_code, 3);
    return result.err;
  }

  static std::unique_ptr<TemporaryDirectory> directory_;
  static std::string run_dir_;
  static Json metrics_;
};

std::unique_ptr<TemporaryDirectory> EpisodePolicy::directory_;
std::string EpisodePolicy::run_dir_;
Json EpisodePolicy::metrics_;

TEST_F(EpisodePolicy, LinesAreTheStepsOfOneEpisode) {
  const auto answers = predict({"[-1, 0, 0]", "[-1, 0, 0]"});
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_NE(answers[0], answers[1]);  // the second line is the second step of the episode
  EXPECT_EQ(predict({R"({"obs": [-1, 0, 0]})", "[-1, 0, 0]"}), answers);
}

TEST_F(EpisodePolicy, RewardsAreTakenOffTheReturnToGo) {
  const auto without = predict({"[-1, 0, 0]", "[-1, 0, 0]"});
  const auto with = predict({"[-1, 0, 0]", R"({"obs": [-1, 0, 0], "reward": -500.5})"});
  EXPECT_EQ(with[0], without[0]);
  EXPECT_NE(with[1], without[1]);
  EXPECT_EQ(predict({"[-1, 0, 0]", R"({"obs": [-1, 0, 0], "reward": 0})"}), without);
}

TEST_F(EpisodePolicy, BadLinesAreRefused) {
  EXPECT_NE(
      error_of(R"({"obs": [-1, 0, 0], "reward": 1})").find("bad.jsonl:1: the first line cannot"),
      std::string::npos);
  for (const char* line :
       {R"({"obs": [-1, 0, 0], "rewards": 1})", R"({"obs": [-1, 0, 0], "reward": "much"})"}) {
    EXPECT_NE(error_of(line).find("bad.jsonl:1: not a step"), std::string::npos) << line;
  }
  EXPECT_NE(error_of(R"({"reward": 1})").find("not a JSON array"), std::string::npos);
}

// `evaluate` and `dataset collect` pass the history of the episode to the policy, as the
// evaluations of the run do.
TEST_F(EpisodePolicy, CollectAndEvaluateKeepTheHistory) {
  const auto report = run({"evaluate", run_dir_, "--episodes", "2", "--json"}).json();
  EXPECT_EQ(report["return_mean"], metrics_["eval_return_mean"]);
  const auto path = *directory_ / "collected.npz";
  const auto collected =
      run({"dataset", "collect", path, "--policy", run_dir_, "--size", "400", "--json"});
  ASSERT_EQ(collected.exit_code, 0) << collected.err;
  EXPECT_EQ(collected.json()["episodes"], 2);
}

TEST_F(EpisodePolicy, EvaluateAimsAtAnotherReturn) {
  const auto target = [&](const char* value) {
    return run({"evaluate", run_dir_, "--episodes", "2", "--target-return", value, "--json"})
        .json()["return_mean"];
  };
  EXPECT_EQ(target("-700"), metrics_["eval_return_mean"]);  // the target return of the config
  EXPECT_NE(target("5000"), metrics_["eval_return_mean"]);
}

}  // namespace
}  // namespace rl_training
