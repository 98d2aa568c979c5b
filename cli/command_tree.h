#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace rl_training {

struct OptionEntry {
  std::string name;  // "--set", or "RUN" for a positional argument
  std::string type;  // placeholder of the option's value; "" for a flag
  std::string meaning;
  bool positional = false, required = false;
};

struct CommandEntry {
  std::string path;  // "dataset inspect"; "" for the program itself
  std::string summary, examples;
  std::vector<OptionEntry> options;
  std::vector<std::string> subcommands;

  // "rl_training predict [OPTIONS] RUN"
  std::string usage() const;
};

// The program and all its subcommands as data, each command before its own subcommands. Reference
// pages, man pages and completion scripts are generated from this data.
std::vector<CommandEntry> list_commands(const CLI::App& program);

// Scripts for `rl_training completion`. They complete subcommands, options, and the names of
// packaged configs, algorithms and environments. Other arguments are completed as file names.
std::string bash_completion(const std::vector<CommandEntry>& commands);
std::string zsh_completion(const std::vector<CommandEntry>& commands);

// Pages for `rl_training reference`. A man page describes one command.
std::string command_reference(const std::vector<CommandEntry>& commands);
std::string configuration_reference();
std::string man_page(const CommandEntry& command);
std::string man_page_name(const CommandEntry& command);  // "rl_training-dataset-inspect"

}  // namespace rl_training
