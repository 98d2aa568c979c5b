// Tests the program when its second executable, which contains LibTorch, is missing.
#ifndef __SANITIZE_ADDRESS__  // sanitizer builds have a single executable
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/tiny_training.h"
#include "tests/support/program.h"

namespace rl_training {
namespace {

// Runs a copy of the program in an otherwise empty directory.
class Start : public testing::Test {
 protected:
  Start() {
    std::filesystem::create_directory(directory_ / "bin");
    input_.program = directory_ / "bin/rl_training";
    std::filesystem::copy_file(RL_TRAINING_PROGRAM, input_.program);
  }

  const TemporaryDirectory directory_;
  Program::Input input_;
};

TEST_F(Start, WhatNeedsNoTensorsNeedsNoOtherExecutable) {
  const auto runs = directory_ / "runs", data = directory_ / "random.npz";
  ASSERT_EQ(run(tiny_training(runs, {"--quiet"})).exit_code, 0);
  write_all(directory_ / "sweep.yaml",
            "config: td3_bc/pendulum\ngrid: {learning_rate: [1e-3, 1e-4]}\nseeds: 0-1\noutput_dir: "
            "sweep\n");
  const std::vector<std::vector<std::string>> calls = {
      {"--help"},
      {"--version"},
      {"train", "--help"},
      {"algorithms"},
      {"algorithms", "rlpd", "--json"},
      {"envs", "Pendulum-v1"},
      {"config", "list"},
      {"config", "show", "cql/hopper-medium-v2"},
      {"dataset", "collect", data, "--env", "Pendulum-v1", "--size", "400"},
      {"dataset", "inspect", data},
      {"dataset", "convert", data, directory_ / "random.hdf5"},
      {"dataset", "mix", directory_ / "mixed.npz", data, directory_ / "random.hdf5"},
      {"dataset", "cache"},
      {"report", runs},
      {"report", runs, "--output", directory_ / "report.html"},
      {"leaderboard", runs},
      {"sweep", directory_ / "sweep.yaml", "--dry-run"},
      {"completion", "bash"},
      {"reference", "configuration"},
  };
  for (const auto& call : calls) {
    const auto result = run(call, input_);
    EXPECT_EQ(result.exit_code, 0) << call[0] << " " << call.back() << ": " << result.err;
    EXPECT_NE(result.out, "") << call[0] << " " << call.back();
  }
}

TEST_F(Start, WhatComputesNamesTheExecutableThatIsMissing) {
  const auto result = run(tiny_training(directory_ / "runs"), input_);
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_TRUE(result.one_error_line()) << result.err;
  EXPECT_NE(result.err.find(directory_ / "libexec/rl_training/rl_training"), std::string::npos)
      << result.err;
  EXPECT_FALSE(std::filesystem::exists(directory_ / "runs"));
}

}  // namespace
}  // namespace rl_training
#endif
