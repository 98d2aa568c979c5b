#pragma once
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace rl_training {

struct Block {
  std::string name;  // name of the file that the block shows, or "" for commands
  std::string text;
};

// Returns the fenced blocks below a heading of a page in docs/. A block that starts with
// "```csv log.csv" shows that file. A block that starts with "```sh" shows commands.
inline std::vector<Block> blocks_below(const std::string& file, const std::string& heading) {
  std::istringstream page(read_all(SOURCE_DIR "/docs/" + file));
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

// Splits a command into its arguments. Single quotes enclose an argument that contains spaces.
inline std::vector<std::string> words_of(const std::string& line) {
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

}  // namespace rl_training
