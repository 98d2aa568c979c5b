#pragma once
#include <cstdint>
#include <string>

#include "rl_training/data/transition_dataset.h"
#include "rl_training/envs/env_options.h"
#include "rl_training/envs/environment.h"

namespace rl_training {

// How many of the sampled transitions of a dataset a task reproduces.
struct Reproduced {
  int64_t compared = 0, equal = 0;
  bool mostly() const { return 2 * equal >= compared; }
};

// Replays up to 100 transitions, each from its own observation. `compared` is 0 if the state of the
// task does not follow from an observation.
Reproduced reproduce_transitions(Environment& env, const TransitionDataset& data);

// D4RL's files do not name the task in which they were recorded. If another version of the task
// reproduces most transitions of the dataset and the task itself does not, returns a warning that
// names this version; otherwise returns "". Makes no environment if there is only one version.
std::string other_version_warning(const std::string& env_id, const EnvOptions& options,
                                  const TransitionDataset& data);

}  // namespace rl_training
