#include <gtest/gtest.h>

#include <sstream>

#include "tests/cli/page_blocks.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

// Runs the commands of the worked example in docs/datasets.md.
TEST(DatasetsPage, TheWorkedExampleRuns) {
  const TemporaryDirectory directory;
  Program::Input input;
  input.working_directory = directory.path();
  int files = 0, commands = 0;
  for (const auto& block : blocks_below("datasets.md", "## Your own data, step by step")) {
    if (!block.name.empty()) {
      write_all(directory / block.name, block.text);
      ++files;
      continue;
    }
    std::istringstream lines(block.text);
    for (std::string line; std::getline(lines, line);) {
      auto words = words_of(line);
      ASSERT_EQ(words.at(0), "rl_training") << line;
      words.erase(words.begin());
      const auto result = run(words, input);
      EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
      ++commands;
    }
  }
  EXPECT_EQ(files, 2);
  EXPECT_EQ(commands, 4);
  const auto report = run({"dataset", "inspect", "log.hdf5", "--json"}, input).json();
  EXPECT_EQ(report["kind"], "d4rl");
  EXPECT_EQ(report["obs_dim"], 3);
  EXPECT_EQ(report["rows"], 10);
}

}  // namespace
}  // namespace rl_training
