#include <gtest/gtest.h>

#include "tests/cli/tiny_training.h"
#include "tests/support/program.h"

namespace rl_training {
namespace {

// Two tiny runs, and what `report` makes of them against what `train` said.
TEST(Report, AgreesWithTheRunsItSums) {
  const TemporaryDirectory directory;
  const auto trained = run(tiny_training(directory / "runs", {"--seeds", "3,4"}));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto runs = trained.json()["runs"];
  const auto result = run({"report", directory / "runs", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  ASSERT_EQ(result.json()["groups"].size(), 1u);
  const auto group = result.json()["groups"][0];
  EXPECT_EQ(group["algo"], "td3_bc");
  EXPECT_EQ(group["env_id"], "Pendulum-v1");
  EXPECT_EQ(group["dataset"], "random");
  EXPECT_LT(group["dataset_return"].get<double>(), -500);
  EXPECT_NE(group["commits"][0], "");
  double mean = 0;
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(group["runs"][i]["run_dir"], runs[i]["run_dir"]);
    EXPECT_EQ(group["runs"][i]["seed"], 3 + i);
    EXPECT_EQ(group["runs"][i]["update_count"], 60);
    EXPECT_EQ(group["runs"][i]["total_timesteps"], 60);
    EXPECT_EQ(group["runs"][i]["last_return"], runs[i]["metrics"]["eval_return_mean"]);
    mean += group["runs"][i]["last_return"].get<double>() / 2;
  }
  EXPECT_NEAR(group["last_return"]["mean"].get<double>(), mean, 1e-9);

  const auto markdown = run({"report", runs[1]["run_dir"].get<std::string>(), "--markdown"});
  EXPECT_NE(markdown.out.find("| td3_bc | Pendulum-v1 | random | "), std::string::npos);
  EXPECT_NE(markdown.out.find(" | 4 | 60 | "), std::string::npos);
  const auto table = run({"report", directory / "runs"});
  EXPECT_NE(table.out.find("3, 4"), std::string::npos);
  EXPECT_NE(table.out.find(" +- "), std::string::npos);
}

TEST(Report, SaysWhenASeedCountsTwice) {
  const TemporaryDirectory directory;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(run(tiny_training(directory / "runs", {"--set", "total_timesteps=20"})).exit_code, 0);
  }
  const auto result = run({"report", directory / "runs", "--json"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.err.starts_with("warning: seed 0 of td3_bc on random counts twice ("))
      << result.err;
}

TEST(Report, NoRunIsOneErrorLine) {
  const TemporaryDirectory directory;
  const auto result = run({"report", directory.path()});
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_TRUE(result.one_error_line()) << result.err;
}

}  // namespace
}  // namespace rl_training
