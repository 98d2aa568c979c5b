#pragma once
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "rl_training/data/dataset_file.h"

namespace rl_training {

// Options for reading dataset files, named like the keys of a config.
struct ReadArguments {
  std::string kind = "auto", env_id, timeout_policy = "auto", keys;
  bool allow_nonfinite = false;
  Space bounds;  // action bounds of the environment, if --env is set

  // `env_meaning` is the help text of --env.
  void add_to(CLI::App& command, const char* env_meaning);
  // If `scale` is true, actions are scaled to [-1, 1] by the bounds. Otherwise they are not
  // changed.
  DatasetReadOptions options(bool scale);
};

// The subcommands that write a dataset.
void add_dataset_convert(CLI::App& parent, Invocation& call);
void add_dataset_collect(CLI::App& parent, Invocation& call);
void add_dataset_mix(CLI::App& parent, Invocation& call);

}  // namespace rl_training
