#pragma once
#include <string>

#include "rl_training/data/logged_steps.h"

namespace rl_training {

// A dataset file of d3rlpy: version 1 (flat arrays with episode_terminals) or 2 (arrays numbered
// by episode). Version 2 stores no observation after an episode's last step, so that step is usable
// only if it terminated.
LoggedSteps read_d3rlpy_steps(const std::string& path, const DatasetReadOptions& options,
                              SandboxOutput& output);

}  // namespace rl_training
