#pragma once
#include <string>

#include "rl_training/data/array_source.h"
#include "rl_training/data/dataset_file.h"
#include "rl_training/data/space.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// Reads an npz file. The arrays observations (or obs), actions, rewards and terminals (or
// terminations, or dones) are required. The arrays timeouts (or truncations), next_observations (or
// next_obs), next_actions, next_action_valid and episode_starts are optional. A known layout
// (array_layout.h) or a map of names in the options (key_map.h) replaces these names.
// - `dones` counts as termination, except in rows that are also marked as time-outs.
// - An episode ends at a flag, before an episode start, and where next_observations differs from
//   the following observation.
// - Without next_observations, the successor of a row is the next observation of its episode. The
//   last row of an episode then has no successor. This row is retained if it is terminal, because
//   targets do not bootstrap from its successor. Otherwise the row is dropped.
// - The bounds in the options state the units of the actions. Without bounds, the reader assumes
//   that actions are in [-1, 1]. Actions outside the bounds are not clipped.
// Throws Error{data} with the file, the key and, if applicable, the row.
LoggedSteps read_npz_steps(const std::string& path, const DatasetReadOptions& options,
                           SandboxOutput& output);

// Like read_npz_steps, but reads from any source of arrays. Error messages use `path` as the file
// name.
LoggedSteps read_named_arrays(ArraySource& file, const std::string& path,
                              const DatasetReadOptions& options, ArrayMemory& memory);

TransitionDataset load_npz_dataset(const std::string& path, const Space* bounds = nullptr,
                                   DatasetFileSummary* summary = nullptr);

// Writes a file atomically. Scales actions from [-1, 1] to `bounds`; if `bounds` is null, actions
// are not scaled. Loading the file with the same bounds returns the transitions of
// with_known_next_actions(dataset), except for the rounding of scaled actions.
void save_npz_dataset(const TransitionDataset& dataset, const std::string& path,
                      const Space* bounds = nullptr);

}  // namespace rl_training
