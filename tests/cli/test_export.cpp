#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/cli/tiny_training.h"
#include "tests/support/program.h"

namespace rl_training {
namespace {

class Exported : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<TemporaryDirectory>();
    const auto result = run(tiny_training(*directory_ / "runs"));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    run_dir_ = result.json()["run_dir"].get<std::string>();
  }
  static void TearDownTestSuite() { directory_.reset(); }

  static std::string file(const std::string& name) { return *directory_ / name; }

  static std::unique_ptr<TemporaryDirectory> directory_;
  static std::string run_dir_;
};

std::unique_ptr<TemporaryDirectory> Exported::directory_;
std::string Exported::run_dir_;

TEST_F(Exported, CHeaderCompilesAloneAndAnswersAsPredict) {
  const auto header = file("robot.h");
  const auto report =
      run({"export", run_dir_, "--format", "c", "--name", "robot", "--output", header, "--json"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  EXPECT_EQ(report.json()["file"], header);
  EXPECT_EQ(report.json()["format"], "c");
  EXPECT_EQ(report.json()["bytes"], read_all(header).size());
  EXPECT_LE(report.json()["max_abs_error"].get<double>(), 1e-5);
  EXPECT_EQ(report.json()["observations"], 1000);
  if (std::system("cc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no cc";

  write_all(file("main.c"),
            "#include \"robot.h\"\n#include <stdio.h>\n"
            "int main(void) {\n"
            "  const float obs[ROBOT_OBS_DIM] = {0.5f, -0.25f, 3.0f};\n"
            "  float action[ROBOT_ACTION_DIM];\n"
            "  if (!(robot_self_test() <= 1e-5f)) return 1;\n"
            "  robot_act(obs, action);\n"
            "  printf(\"%.9g\\n\", action[0]);\n"
            "  return 0;\n}\n");
  const auto compile = "cc -std=c99 -Wall -Wextra -pedantic -Werror -o " + file("robot") + " " +
                       file("main.c") + " -lm";
  ASSERT_EQ(std::system(compile.c_str()), 0);
  ASSERT_EQ(std::system((file("robot") + " > " + file("answer")).c_str()), 0);
  const auto predicted = run({"predict", run_dir_, "--obs", "[0.5, -0.25, 3.0]"}).json();
  EXPECT_NEAR(std::stod(read_all(file("answer"))), predicted["action"][0].get<double>(), 1e-5);
}

TEST_F(Exported, HeaderIsAlsoCpp) {
  ASSERT_EQ(run({"export", run_dir_, "--format", "c", "--output", file("policy.h")}).exit_code, 0);
  if (std::system("c++ --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no c++";
  write_all(file("main.cpp"),
            "#include \"policy.h\"\nint main() { return policy_self_test() <= 1e-5f ? 0 : 1; }\n");
  const auto compile = "c++ -std=c++11 -Wall -Werror -o " + file("cpp") + " " + file("main.cpp");
  ASSERT_EQ(std::system(compile.c_str()), 0);
  EXPECT_EQ(std::system(file("cpp").c_str()), 0);
}

TEST_F(Exported, OnnxIsVerifiedAndTheSameTwice) {
  const auto first =
      run({"export", run_dir_, "--format", "onnx", "--output", file("a.onnx"), "--json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_LE(first.json()["max_abs_error"].get<double>(), 1e-5);
  ASSERT_EQ(run({"export", run_dir_, "--format", "onnx", "--output", file("b.onnx")}).exit_code, 0);
  EXPECT_TRUE(read_all(file("a.onnx")) == read_all(file("b.onnx")));
}

TEST_F(Exported, BadArgumentsAreOneLine) {
  const auto format = run({"export", run_dir_, "--format", "tflite"});
  EXPECT_EQ(format.exit_code, 2);
  EXPECT_TRUE(format.one_error_line()) << format.err;
  EXPECT_NE(format.err.find("expected c | onnx, got tflite"), std::string::npos) << format.err;
  const auto name = run({"export", run_dir_, "--format", "c", "--name", "7up"});
  EXPECT_EQ(name.exit_code, 2);
  EXPECT_TRUE(name.one_error_line()) << name.err;
  const auto nowhere = run({"export", file("nowhere"), "--format", "c"});
  EXPECT_EQ(nowhere.exit_code, 6);
  EXPECT_TRUE(nowhere.one_error_line()) << nowhere.err;
  const auto unwritable =
      run({"export", run_dir_, "--format", "c", "--output", file("none/policy.h")});
  EXPECT_EQ(unwritable.exit_code, 6);
  EXPECT_TRUE(unwritable.one_error_line()) << unwritable.err;
}

TEST_F(Exported, HistoryIsRefusedWithTheReason) {
  std::vector<std::string> arguments = {"train",        "--config", "decision_transformer/pendulum",
                                        "--output-dir", file("dt"), "--json"};
  for (const char* assignment : {"total_timesteps=2", "dataset_size=500", "batch_size=8",
                                 "eval_episodes=0", "embed_dim=8", "context_length=4"}) {
    arguments.insert(arguments.end(), {"--set", assignment});
  }
  const auto trained = run(arguments);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto refused =
      run({"export", trained.json()["run_dir"].get<std::string>(), "--format", "onnx"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(refused.one_error_line()) << refused.err;
  EXPECT_NE(refused.err.find("depends on previous steps and rewards"), std::string::npos);
}

}  // namespace
}  // namespace rl_training
