#pragma once
#include <string>

#include "rl_training/data/array_source.h"
#include "rl_training/data/dataset_file.h"
#include "rl_training/data/space.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// Reads the arrays observations (or obs), actions, rewards, terminals (terminations, or else
// dones) and, if present, timeouts (truncations), next_observations (next_obs), next_actions,
// next_action_valid, episode_starts.
// - `dones` counts as termination unless a time-out is marked as well.
// - Episodes end at a flag, before an episode start, and where next_observations is not the
//   following observation.
// - Without next_observations, the successor of a row is the next observation of its episode. The
//   last row of an
//   episode then has none: it stays if it is terminal (nothing is bootstrapped from it) and is
//   dropped otherwise.
// - Bounds, if given, state the units of the actions; otherwise [-1, 1] is assumed.
//   Actions beyond are kept as they are.
// Every problem is Error{data} with file, key and, if applicable, the row.
LoggedSteps read_npz_steps(const std::string& path, const DatasetReadOptions& options,
                           SandboxOutput& output);

// The same for arrays that are not in a file; messages use `path` as the file.
LoggedSteps read_named_arrays(ArraySource& file, const std::string& path,
                              const DatasetReadOptions& options, ArrayMemory& memory);

TransitionDataset load_npz_dataset(const std::string& path, const Space* bounds = nullptr,
                                   DatasetFileSummary* summary = nullptr);

// Writes a file atomically. Actions are scaled from [-1, 1] to `bounds`, or not scaled if there are
// none. Loading the file gives the same fingerprint.
void save_npz_dataset(const TransitionDataset& dataset, const std::string& path,
                      const Space* bounds = nullptr);

}  // namespace rl_training
