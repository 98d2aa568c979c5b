#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/program.h"

namespace rl_training {
namespace {

TEST(Reference, PagesOfTheRepositoryAreThoseOfTheProgram) {
  for (const std::string page : {"commands", "configuration"}) {
    EXPECT_EQ(run({"reference", page}).out, read_all(SOURCE_DIR "/docs/reference/" + page + ".md"))
        << "`make reference` rewrites them";
  }
}

TEST(Reference, EachCommandHasAManPage) {
  const TemporaryDirectory directory;
  const auto result = run({"reference", "man", "--output", directory / "man1", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  size_t pages = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory / "man1")) {
    ++pages;
    EXPECT_TRUE(read_all(file.path()).starts_with(".TH \"rl_training")) << file.path();
  }
  EXPECT_EQ(result.json()["pages"], pages);
  const auto page = read_all(directory / "man1/rl_training-dataset-inspect.1");
  EXPECT_NE(page.find(".SH SYNOPSIS\n.B rl_training dataset inspect [OPTIONS] FILE\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find(".B \\-\\-json\n"), std::string::npos) << page;

  const auto nowhere = run({"reference", "man"});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_TRUE(nowhere.one_error_line()) << nowhere.err;
}

// Returns the completions that bash offers for the word with index `last`.
std::string completed(const std::string& words, int last) {
  static const std::string script = run({"completion", "bash"}).out;
  const TemporaryDirectory directory;
  write_all(directory / "script", script);
  const auto command = "bash -c '. " + (directory / "script") + "; COMP_WORDS=(rl_training " +
                       words + "); COMP_CWORD=" + std::to_string(last) +
                       "; _rl_training; echo \"${COMPREPLY[*]}\"' > " + (directory / "answer");
  EXPECT_EQ(std::system(command.c_str()), 0);
  return read_all(directory / "answer");
}

TEST(Completion, BashKnowsCommandsOptionsAndNames) {
  EXPECT_EQ(completed("verify", 1), "verify-resume\n");
  EXPECT_EQ(completed("dataset insp", 2), "inspect\n");
  EXPECT_EQ(completed("train --conf", 2), "--config\n");
  EXPECT_EQ(completed("train --config td3_bc/pendulum-rep", 3), "td3_bc/pendulum-replay\n");
  EXPECT_EQ(completed("algorithms decision", 2), "decision_transformer\n");
  EXPECT_EQ(completed("envs Pend", 2), "Pendulum-v1\n");
  EXPECT_EQ(completed("dataset --conf", 2), "\n");
}

TEST(Completion, OnlyShellsThatItKnows) {
  EXPECT_TRUE(run({"completion", "zsh"}).out.starts_with("#compdef rl_training\n"));
  const auto fish = run({"completion", "fish"});
  EXPECT_EQ(fish.exit_code, 2);
  EXPECT_TRUE(fish.one_error_line()) << fish.err;
}

}  // namespace
}  // namespace rl_training
