#pragma once
#include <cstdint>
#include <vector>

#include "rl_training/data/transition_dataset.h"
#include "rl_training/util/rng.h"

namespace rl_training {

// Pieces of episodes, `length` steps each. A window never runs past the end of its episode: what
// is missing there is zero and has mask 0.
struct TrajectoryWindows {
  int64_t count = 0, length = 0, obs_dim = 0, action_dim = 0;
  std::vector<int64_t> first_rows;                              // [count], rows of the dataset
  std::vector<float> obs;                                       // [count, length, obs_dim]
  std::vector<float> actions;                                   // [count, length, action_dim]
  std::vector<float> rewards, returns_to_go, terminated, mask;  // [count, length]
  std::vector<int64_t> timesteps;                               // [count, length], in the episode
};

// Each window begins at a row drawn uniformly. `length` and `count` below 1 or an empty dataset:
// Error{data}.
TrajectoryWindows sample_trajectory_windows(const TransitionDataset& dataset, int64_t length,
                                            int64_t count, Rng& rng);

}  // namespace rl_training
