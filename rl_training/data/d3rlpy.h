#pragma once
#include <string>

#include "rl_training/data/logged_steps.h"

namespace rl_training {

// Reads a dataset file of d3rlpy. Version 1 has flat arrays with episode_terminals. Version 2 has
// separate arrays for each episode. Version 2 does not store the observation after the last step of
// an episode, so the last step is usable only if the episode terminated.
LoggedSteps read_d3rlpy_steps(const std::string& path, const DatasetReadOptions& options,
                              SandboxOutput& output);

}  // namespace rl_training
