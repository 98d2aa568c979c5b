#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

struct Block {
  std::string name;  // of the file it shows, or "" for commands
  std::string text;
};

// The fenced blocks below a heading of docs/datasets.md: files (```csv log.csv) and commands
// (```sh).
std::vector<Block> blocks_below(const std::string& heading) {
  std::istringstream page(read_all(SOURCE_DIR "/docs/datasets.md"));
  std::vector<Block> blocks;
  bool here = false, open = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) here = line == heading;
    if (!here) continue;
    if (line.starts_with("```")) {
      open = !open;
      const auto space = line.find(' ');
      if (open) blocks.push_back({space == std::string::npos ? "" : line.substr(space + 1), ""});
    } else if (open) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

// The words of a command; '...' holds one together.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

// What the page shows works as shown.
TEST(DatasetsPage, TheWorkedExampleRuns) {
  const TemporaryDirectory directory;
  Program::Input input;
  input.working_directory = directory.path();
  int files = 0, commands = 0;
  for (const auto& block : blocks_below("## Your own data, step by step")) {
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
