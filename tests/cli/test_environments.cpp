#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/program.h"

namespace rl_training {
namespace {

TEST(Environments, ReturnsOfRandomAndZeroActions) {
  const std::vector<std::string> command = {"envs", "Pendulum-v1", "--returns", "--episodes",
                                            "3",    "--seed",      "1",         "--json"};
  const auto first = run(command);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto json = first.json();
  EXPECT_EQ(json["episodes"], 3);
  EXPECT_EQ(json["seed"], 1);
  ASSERT_EQ(json["environments"].size(), 1U);
  const auto& pendulum = json["environments"][0];
  EXPECT_EQ(pendulum["zero"]["length_mean"], 200.0);
  for (const char* policy : {"random", "zero"}) {
    const double mean = pendulum[policy]["return_mean"].get<double>();
    EXPECT_LT(mean, -300) << policy;
    EXPECT_GT(mean, -3255) << policy;
  }
  EXPECT_EQ(run(command).out, first.out);

  const auto alone = run({"envs", "--episodes", "3"});
  EXPECT_EQ(alone.exit_code, 2);
  const auto unknown = run({"envs", "Pendulum-v0", "--returns"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_TRUE(unknown.one_error_line()) << unknown.err;
}

TEST(Environments, KeysOfATask) {
  const auto json = run({"envs", "Pendulum-v1", "--json"}).json();
  ASSERT_EQ(json["env_kwargs"].size(), 1U);
  EXPECT_EQ(json["env_kwargs"][0]["key"], "max_episode_steps");
}

TEST(Environments, RenderDrawsAnEpisode) {
  const TemporaryDirectory directory;
  const std::string strip = directory / "strip.png";
  const auto made = run({"render", "--policy", "zero", "--env", "Pendulum-v1", "--output", strip,
                         "--width", "100", "--json"});
  if (made.exit_code == 2 && made.err.find("cannot draw") != std::string::npos) {
    GTEST_SKIP() << made.err;
  }
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.json()["pictures"], 8);
  EXPECT_EQ(made.json()["lengths"], Json::array({200}));
  EXPECT_GT(std::filesystem::file_size(strip), 1000U);

  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"render", "--output", strip},
        {"render", "--policy", "zero", "--output", strip},
        {"render", "--policy", "mad", "--env", "Pendulum-v1", "--output", strip},
        {"render", "--policy", "zero", "--env", "Pendulum-v1", "--output", "a.bmp"},
        {"render", "--policy", "zero", "--env", "Pendulum-v1"}}) {
    const auto result = run(wrong);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_TRUE(result.one_error_line()) << result.err;
  }
}

}  // namespace
}  // namespace rl_training
