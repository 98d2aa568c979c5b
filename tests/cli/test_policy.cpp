#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/cli/tiny_training.h"
#include "tests/support/program.h"

namespace rl_training {
namespace {

// All tests share one tiny run. A test that damages the run works on a copy.
class Policy : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<TemporaryDirectory>();
    const auto result = run(tiny_training(*directory_ / "runs", {"--set", "eval_seed=3"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    run_dir_ = result.json()["run_dir"].get<std::string>();
    before_ = result.json()["metrics"];
  }
  static void TearDownTestSuite() { directory_.reset(); }

  static std::string copy_of_run(const std::string& name) {
    const auto path = *directory_ / name;
    std::filesystem::copy(run_dir_, path, std::filesystem::copy_options::recursive);
    return path;
  }

  static std::unique_ptr<TemporaryDirectory> directory_;
  static std::string run_dir_;
  static Json before_;
};

std::unique_ptr<TemporaryDirectory> Policy::directory_;
std::string Policy::run_dir_;
Json Policy::before_;

std::string checkpoint_at(const std::string& run_dir, int step) {
  return run_dir + "/checkpoints/step-0000000" + std::to_string(step);
}

void flip_a_byte(const std::string& path) {
  auto bytes = read_all(path);
  ASSERT_GT(bytes.size(), 600u);
  bytes[bytes.size() - 100] = static_cast<char>(bytes[bytes.size() - 100] ^ 0x10);
  write_all(path, bytes);
}

TEST_F(Policy, EvaluateReportsRawReturns) {
  // By default, the episodes are those of the evaluations of the run, so the results must be equal.
  const auto report = run({"evaluate", run_dir_, "--episodes", "2", "--json"}).json();
  EXPECT_EQ(report["episodes"], 2);
  EXPECT_EQ(report["return_mean"], before_["eval_return_mean"]);
  EXPECT_EQ(report["return_std"], before_["eval_return_std"]);
  EXPECT_EQ(report["length_mean"], 200.0);
  EXPECT_TRUE(report["normalized_score"].is_null());
  EXPECT_TRUE(report["success_rate"].is_null());  // the task has no goals
  EXPECT_EQ(report["checkpoint"], checkpoint_at(run_dir_, 60));
  EXPECT_EQ(report["seed"], 3);

  const auto other =
      run({"evaluate", run_dir_ + "/checkpoints/best", "--seed", "9", "--threads", "1", "--json"});
  EXPECT_EQ(other.json()["episodes"], 10);
  EXPECT_EQ(other.json()["seed"], 9);
  EXPECT_NE(other.json()["return_mean"], report["return_mean"]);
}

TEST_F(Policy, IsPlayedOnlyInATaskThatItFits) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"render", run_dir_, "--env", "RL-PointGoal1D-v0", "--output",
                                 *directory_ / "film.gif"},
        {"dataset", "collect", *directory_ / "data.npz", "--policy", run_dir_, "--env",
         "CartPole-v1"}}) {
    const auto result = run(command);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_TRUE(result.one_error_line()) << result.err;
    EXPECT_NE(result.err.find("--env: the policy does not fit "), std::string::npos) << result.err;
  }
}

TEST_F(Policy, PredictAnswersOneObservationOrManyAlike) {
  const auto one = run({"predict", run_dir_, "--obs", "[0.6, -0.8, 1.5]"});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  const auto action = one.json()["action"];
  ASSERT_EQ(action.size(), 1u);
  EXPECT_LE(std::abs(action[0].get<double>()), 2.0);

  const auto path = *directory_ / "observations.jsonl";
  write_all(path, "[0.6, -0.8, 1.5]\n\n  \n[1, 0, 0]\n[0.6, -0.8, 1.5]");
  const auto many = run({"predict", checkpoint_at(run_dir_, 60), "--input", path, "--json"});
  ASSERT_EQ(many.exit_code, 0) << many.err;
  std::istringstream lines(many.out);
  std::string first, second, third, rest;
  lines >> first >> second >> third;
  EXPECT_EQ(first + "\n", one.out);
  EXPECT_NE(second, first);
  EXPECT_EQ(third, first);
  EXPECT_FALSE(lines >> rest);
}

TEST_F(Policy, PredictAnswersEachLineOfStdinAtOnce) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Program::Input input;
  input.stdin_descriptor = ends[0];
  Program program({"predict", run_dir_}, input);
  ::close(ends[0]);
  const auto answers = [&] {
    const auto text = program.output_so_far();
    return std::count(text.begin(), text.end(), '\n');
  };
  for (int line = 1; line <= 2; ++line) {
    ASSERT_EQ(::write(ends[1], "[1, 0, 0]\n", 10), 10);
    EXPECT_TRUE(becomes_true([&] { return answers() == line || program.ended(); }));
    EXPECT_EQ(answers(), line);
  }
  ASSERT_EQ(::write(ends[1], "[1, 0]\n", 7), 7);
  ::close(ends[1]);
  const auto result = program.wait();
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("error: stdin:3: "), std::string::npos) << result.err;
}

TEST_F(Policy, PredictRefusesBadLinesWithTheirNumber) {
  const auto path = *directory_ / "bad.jsonl";
  const std::vector<std::pair<std::string, std::string>> bad_lines = {
      {"[1, 0]", "expected 3 numbers, got 2"},
      {"[1, 0, 1e39]", "expected finite numbers, got 1e+39"},
      {"[1, 0, NaN]", "not a JSON array of numbers"},
      {"[1, 0, \"2\"]", "expected finite numbers, got \"2\""}};
  for (const auto& [bad, said] : bad_lines) {
    write_all(path, "[1, 0, 0]\n\n" + bad + "\n[1, 0, 0]\n");
    const auto result = run({"predict", run_dir_, "--input", path});
    EXPECT_EQ(result.exit_code, 3) << bad;
    EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1) << bad;
    EXPECT_TRUE(result.one_error_line()) << result.err;
    EXPECT_TRUE(result.err.starts_with("error: " + path + ":3: ")) << result.err;
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
  }
  EXPECT_EQ(run({"predict", run_dir_, "--input", *directory_ / "none"}).exit_code, 6);
}

TEST_F(Policy, ADamagedCheckpointIsPassedOver) {
  const auto flipped = copy_of_run("flipped");
  flip_a_byte(checkpoint_at(flipped, 60) + "/tensors.safetensors");
  const auto result = run({"evaluate", flipped, "--json"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.json()["checkpoint"], checkpoint_at(flipped, 40));
  EXPECT_TRUE(result.err.starts_with("warning: ")) << result.err;
  EXPECT_NE(result.err.find(checkpoint_at(flipped, 60)), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(checkpoint_at(flipped, 40)), std::string::npos) << result.err;

  // Resuming from the older checkpoint produces the files that the run had before the damage.
  const auto resumed = run({"resume", flipped, "--json"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  const std::string tensors = "/tensors.safetensors";
  EXPECT_TRUE(read_all(checkpoint_at(flipped, 60) + tensors) ==
              read_all(checkpoint_at(run_dir_, 60) + tensors));
  EXPECT_EQ(read_all(flipped + "/metrics.jsonl"), read_all(run_dir_ + "/metrics.jsonl"));
}

TEST_F(Policy, WithoutAGoodCheckpointThereIsAnError) {
  const auto damaged = copy_of_run("damaged");
  std::filesystem::resize_file(checkpoint_at(damaged, 60) + "/tensors.safetensors", 300);
  const auto cut = run({"predict", damaged, "--obs", "[1, 0, 0]"});
  EXPECT_EQ(cut.exit_code, 0);
  EXPECT_NE(cut.err.find(checkpoint_at(damaged, 60)), std::string::npos) << cut.err;

  flip_a_byte(checkpoint_at(damaged, 40) + "/tensors.safetensors");
  flip_a_byte(checkpoint_at(damaged, 20) + "/tensors.safetensors");
  for (const char* command : {"evaluate", "resume"}) {
    const auto result = run({command, damaged, "--json"});
    EXPECT_EQ(result.exit_code, 4) << result.err;
    EXPECT_EQ(result.json()["error"]["code"], "checkpoint");
  }
}

}  // namespace
}  // namespace rl_training
