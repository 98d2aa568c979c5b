#pragma once
#include <cstdint>
#include <vector>

#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// A dataset as one array for each thing with an entry for each row, as flat files store it.
struct FlatArrays {
  int64_t rows = 0, obs_dim = 0, action_dim = 0;
  std::vector<float> obs, next_obs, actions, rewards;
  std::vector<uint8_t> terminals, timeouts;
  // Empty unless an episode ends without a flag: it could not be told from the next one otherwise.
  std::vector<uint8_t> episode_starts;
  std::vector<float> next_actions;  // empty where the dataset has none
  std::vector<uint8_t> next_action_valid;

  explicit FlatArrays(const TransitionDataset& dataset);
};

}  // namespace rl_training
