#pragma once
#include <cstdint>
#include <string>

#include "rl_training/data/action_bounds.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// What a file holds, before rows without a successor are left out.
struct DatasetFileSummary {
  int64_t rows = 0, terminals = 0, timeouts = 0;
  double reward_sum = 0;  // of the rewards as stored
  bool has_next_observations = false;
  int64_t dropped_rows = 0;  // ended an episode without termination, and their successor is unknown
};

// Reads transitions from an .npz file with the arrays observations (or obs), actions, rewards,
// terminals (terminations, or else dones) and, if there, timeouts (truncations), next_observations
// (next_obs), next_actions, next_action_valid, episode_starts.
// - Episodes end at a flag, before an episode start, and where next_observations is not the
//   following observation.
// - Without next_observations, successors are taken from inside the episode. The last row of an
//   episode then has none: it stays if it is terminal (nothing is bootstrapped from it) and is
//   dropped otherwise.
// - `bounds`, if given, tells the units of the actions; else they are taken to be in [-1, 1].
//   Actions beyond are kept as they are.
// Every problem is Error{data} with file, key and, where it is one, the row.
TransitionDataset load_npz_dataset(const std::string& path, const ActionBounds* bounds = nullptr,
                                   DatasetFileSummary* summary = nullptr);

// Written atomically; actions in [-1, 1]. Loading it gives the same fingerprint.
void save_npz_dataset(const TransitionDataset& dataset, const std::string& path);

}  // namespace rl_training
