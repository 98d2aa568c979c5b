#include <gtest/gtest.h>

#include "tests/support/program.h"

namespace rl_training {
namespace {

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

TEST(Usage, EveryHelpHasExamplesAndSucceeds) {
  for (const char* command :
       {"", "train", "resume", "evaluate", "predict", "config show", "env replay", "doctor"}) {
    auto arguments = words(command);
    arguments.emplace_back("--help");
    const auto result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_NE(result.out.find(std::string("  rl_training ") + command), std::string::npos)
        << result.out;
    EXPECT_EQ(result.err, "") << command;
  }
}

// Only examples may be longer than 80 columns, because a command cannot be split into several
// lines. Examples are indented by two spaces.
TEST(Usage, DescriptionsFitIntoEightyColumns) {
  for (const char* command : {"train --help", "dataset convert --help", "sweep --help", "--help",
                              "algorithms", "algorithms td3_bc", "envs", "envs Hopper-v4"}) {
    std::istringstream lines(run(words(command)).out);
    size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      const bool example = line.starts_with("  rl_training ") || line.starts_with("  srun ");
      EXPECT_TRUE(example || line.size() <= 80) << command << ": " << line;
    }
    EXPECT_GT(count, 5U) << command;
  }
  const auto help = run({"train", "--help"}).out;
  EXPECT_NE(help.find("  --seed N                seed of the run (not with --seeds)\n"),
            std::string::npos)
      << help;
}

TEST(Usage, VersionIsOneLine) {
  const auto result = run({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.out.starts_with("rl_training ")) << result.out;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1);
}

struct Mistake {
  std::vector<std::string> arguments;
  std::string said;  // expected part of the error line
};

TEST(Usage, MistakesAreOneLineAndExitTwo) {
  const std::vector<Mistake> mistakes = {
      {{}, "a subcommand is missing (expected train | sweep | resume"},
      {{"config"}, "a subcommand is missing (expected check | show | list)"},
      {{"trian"}, "reference; did you mean `train`?)"},
      {{"train", "--confg", "x"}, "did you mean `--config`?"},
      {{"envs", "Pendulum-v1", "more"}, "unexpected argument more"},
      {{"train", "--config", "td3_bc/pendulm"}, "(nearest: td3_bc/pendulum, "},
      {{"train", "--config", "td3_bc/pendulum", "--seed", "1", "--seeds", "1,2"}, "--seed"},
      {{"train", "--config", "td3_bc/pendulum", "--seed", ""}, "seed: not a whole number"},
      {{"train", "--config", "td3_bc/pendulum", "--seeds", "1,-2"}, "--seeds: not a seed"},
      {{"config", "check", "td3_bc/pendulum", "--set", "batch_sise=3"},
       "algo_kwargs.batch_sise: unknown key (did you mean `batch_size`?)"},
      {{"evaluate", "x", "--episodes", "0"}, "--episodes: out of range (expected a whole number"},
      {{"envs", "Pendulum-v2"}, "Pendulum-v1"},
  };
  for (const auto& mistake : mistakes) {
    const auto result = run(mistake.arguments);
    EXPECT_EQ(result.exit_code, 2) << mistake.said;
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(result.one_error_line()) << result.err;
    EXPECT_NE(result.err.find(mistake.said), std::string::npos) << result.err;
  }
}

TEST(Usage, ErrorsComeAsJsonToo) {
  const auto unknown_option = run({"train", "--json", "--confg", "x"});
  EXPECT_EQ(unknown_option.exit_code, 2);
  EXPECT_TRUE(unknown_option.one_error_line()) << unknown_option.err;
  EXPECT_EQ(unknown_option.json()["error"]["code"], "config");

  const TemporaryDirectory directory;
  const auto path = directory / "bad.yaml";
  write_all(path, "algo: td3_bc\nenv_id: Pendulum-v1\nalgo_kwargs:\n  gamma: 2\n");
  const auto bad_key = run({"config", "check", path, "--json"});
  EXPECT_EQ(bad_key.exit_code, 2);
  const auto error = bad_key.json()["error"];
  EXPECT_EQ(error["code"], "config");
  EXPECT_EQ(error["file"], path);
  EXPECT_EQ(error["line"], 4);
  EXPECT_EQ(error["key"], "algo_kwargs.gamma");
  EXPECT_NE(error["message"].get<std::string>().find("out of range"), std::string::npos);
  EXPECT_EQ(bad_key.err, "error: " + path + ":4: algo_kwargs.gamma: " +
                             error["message"].get<std::string>() + "\n");
}

TEST(Usage, OutputThatCannotBeWrittenIsAnError) {
  Program::Input input;
  input.stdout_file = "/dev/full";
  const auto result = run({"envs"}, input);
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_TRUE(result.one_error_line()) << result.err;
}

}  // namespace
}  // namespace rl_training
