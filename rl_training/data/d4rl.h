#pragma once
#include <string>

#include "rl_training/data/logged_steps.h"
#include "rl_training/util/json.h"

namespace rl_training {

// Reads an HDF5 file in D4RL's layout. The arrays observations, actions, rewards and terminals are
// required; timeouts and next_observations are optional. Each array has one entry per step. Rewards
// and flags may have shape (N,) or (N, 1). Any float, integer or boolean type is accepted. Other
// arrays are read only if options.keys names them or if save_d4rl_dataset() wrote the file.
// - The next observation of a time-out step is treated as unknown if it equals the first
//   observation of the following episode, because some writers store that first observation
//   by mistake.
// - If `timeouts` is missing, the option episode_length states the time limit.
LoggedSteps read_d4rl_steps(const std::string& path, const DatasetReadOptions& options,
                            SandboxOutput& output);

// Returns the description that read_plain_d4rl_steps needs. Returns null if read_d4rl_steps must
// read the file, for example because an array is not stored plainly (plain_file.h). Call this only
// in a sandbox.
Json describe_plain_d4rl(const std::string& path);

// Returns the same steps as read_d4rl_steps. Does not use libhdf5, so it may run outside a sandbox.
LoggedSteps read_plain_d4rl_steps(const std::string& path, const Json& description,
                                  const DatasetReadOptions& options, ArrayMemory& memory);

// Writes a compressed file atomically. Scales actions from [-1, 1] to `bounds`; without bounds,
// actions are not scaled. Marks episode ends as described at FlatEnds::last_observations, so that
// D4RL's own qlearning_dataset() returns exactly the transitions of `dataset`. read_d4rl_steps()
// and make_transitions() restore a dataset with the same fingerprint under either TimeoutPolicy.
void save_d4rl_dataset(const TransitionDataset& dataset, const std::string& path,
                       const Space* bounds = nullptr);

}  // namespace rl_training
