#include <gtest/gtest.h>

#include "tests/support/program.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> verify(const char* config, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"verify-resume", config, "--json"};
  for (const char* assignment : {"hidden_sizes=[32,32]", "batch_size=32", "eval_episodes=2"}) {
    arguments.insert(arguments.end(), {"--set", assignment});
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(VerifyResume, ProvesAKilledRunEqual) {
  const TemporaryDirectory directory;
  const auto result =
      run(verify("td3_bc/pendulum-random", {"--set", "dataset_size=500", "--total-timesteps",
                                            "2000", "--output-dir", directory / "proof"}));
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  const auto report = result.json();
  EXPECT_EQ(report["equal"], true);
  EXPECT_EQ(report["length"], 2000);
  EXPECT_GE(report["killed_at"], 1000);
  EXPECT_LT(report["killed_at"], 2000);
  EXPECT_GT(report["arrays"], 100);  // number of arrays in two checkpoints
  EXPECT_GE(report["rows"], 20);
  EXPECT_EQ(report["differences"], Json::array());
  EXPECT_EQ(report["runs"], directory / "proof");
  // The run was killed, so its second session starts in the middle of the run.
  const auto killed = fs::directory_iterator(directory / "proof/killed")->path().string();
  const auto metadata = Json::parse(read_all(killed + "/metadata.json"));
  ASSERT_EQ(metadata["sessions"].size(), 2u);
  EXPECT_EQ(metadata["sessions"][1]["from_update"], report["killed_at"]);
}

TEST(VerifyResume, SaysWhatIsWrong) {
  const TemporaryDirectory directory;
  auto result = run({"verify-resume", directory / "none.yaml"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_TRUE(result.one_error_line()) << result.err;
  result = run({"verify-resume", "td3_bc/pendulum", "--output-dir", "/proc"});
  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_NE(result.err.find("is not empty"), std::string::npos) << result.err;
  // An error of the training process is reported with its message.
  write_all(
      directory / "config.yaml",
      "algo: td3_bc\nenv_id: Pendulum-v1\nalgo_kwargs:\n  dataset_kind: npz\n  dataset_path: " +
          (directory / "none.npz") + "\n");
  result = run({"verify-resume", directory / "config.yaml"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.err.find("error: train: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("none.npz"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace rl_training
