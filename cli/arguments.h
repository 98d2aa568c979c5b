#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "rl_training/util/config_node.h"
#include "rl_training/util/options.h"

namespace rl_training {

// Adds a subcommand that runs `work`. The subcommand has the option --json and shows the examples
// at the end of its help.
CLI::App* add_command(CLI::App& parent, Invocation& call, const std::string& name,
                      const std::string& summary, const std::string& examples,
                      std::function<int()> work);

// The arguments of `train`, `config` and `verify-resume` that select a config and change its keys.
struct ConfigArguments {
  std::string config;  // file or packaged name
  std::vector<std::string> assignments;

  // `name` is "--config" or, for a positional argument, "CONFIG".
  void add_to(CLI::App& command, const std::string& name);
  ConfigNode load() const;
};

// A whole number from the command line. It is stored as text until `read` checks it like the value
// of a config key, so the number may be written as 1e6.
struct NumberArgument {
  std::optional<std::string> text;

  bool given() const { return text.has_value(); }
  int64_t read(const char* name, const Range& range) const;
};

// The argument RUN of commands that start from a run directory or a checkpoint.
void add_run_argument(CLI::App& command, std::string& path);
void add_threads(CLI::App& command, NumberArgument& threads);
inline const Range kThreadRange = between(0, 1024);

// The text of a usage error, on one line. `error` is the exception with which CLI11 rejected the
// arguments.
std::string usage_problem(const CLI::App& program, const CLI::ParseError& error);
// The text, on one line, for a call without a required subcommand. It lists the valid subcommands.
std::string missing_subcommand(const CLI::App& program);

}  // namespace rl_training
