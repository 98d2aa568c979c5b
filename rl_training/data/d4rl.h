#pragma once
#include <string>

#include "rl_training/data/logged_steps.h"
#include "rl_training/util/json.h"

namespace rl_training {

// An HDF5 file in D4RL's layout: observations, actions, rewards, terminals and, if present,
// timeouts and next_observations, one entry for each step. Rewards and flags may be (N,) or (N, 1),
// numbers of any float, integer or boolean type; everything else in the file is ignored.
// - A time-out step's next observation is treated as unknown if it is the first observation of
// the following episode: some writers store that observation instead of the true one.
// - Without `timeouts`, the option episode_length states the time limit.
LoggedSteps read_d4rl_steps(const std::string& path, const DatasetReadOptions& options,
                            SandboxOutput& output);

// The description that read_plain_d4rl_steps needs, if all required arrays are stored plainly
// (plain_file.h); null otherwise. For use in a sandbox only.
Json describe_plain_d4rl(const std::string& path);

// The same as read_d4rl_steps, but without libhdf5, so any process may call it.
LoggedSteps read_plain_d4rl_steps(const std::string& path, const Json& description,
                                  const DatasetReadOptions& options, ArrayMemory& memory);

// Writes a compressed file atomically. Actions are scaled from [-1, 1] to `bounds`, or not scaled
// if there are none. Ends are stored as FlatEnds::last_observations, so D4RL's q-learning
// conversion of the file yields exactly the transitions of `dataset`, and reading it with either
// TimeoutPolicy gives the same fingerprint.
void save_d4rl_dataset(const TransitionDataset& dataset, const std::string& path,
                       const Space* bounds = nullptr);

}  // namespace rl_training
