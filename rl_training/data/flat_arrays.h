#pragma once
#include <cstdint>
#include <vector>

#include "rl_training/data/space.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// A dataset as one array for each thing with an entry for each row, as flat files store it.
struct FlatArrays {
  int64_t rows = 0, obs_dim = 0, action_dim = 0;
  std::vector<float> obs, next_obs, actions, rewards;
  std::vector<uint8_t> terminals, timeouts;
  // Empty unless an episode ends without a flag: it could not be told from the next one otherwise.
  std::vector<uint8_t> episode_starts;
  // Empty where the dataset has none and the order of the rows tells them all.
  std::vector<float> next_actions;
  std::vector<uint8_t> next_action_valid;

  // Actions are scaled from [-1, 1] to `bounds`; without them they stay as they are.
  FlatArrays(const TransitionDataset& dataset, const Space* bounds);
};

// The actions of some rows in the same units.
void append_actions(const TransitionDataset& dataset, const Space* bounds, const float* values,
                    std::vector<float>& out);

}  // namespace rl_training
