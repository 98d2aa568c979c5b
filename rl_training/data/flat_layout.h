#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rl_training/data/array_source.h"

namespace rl_training {

// Names under which a file may store each array. Each array has one entry per step. Observations,
// actions, rewards and terminals are required.
struct FlatKeys {
  using Names = std::vector<std::string>;
  Names obs, actions, rewards, terminals, timeouts, next_obs;
  // Marks terminations and possibly also time-outs. Used only if the file contains none of the
  // names in `terminals`.
  Names terminals_fallback;
  Names episode_ends;  // marks the last step of every episode, whatever ended the episode
  Names episode_starts;
  Names last_observations;  // marks rows that contain only the last observation of an episode
  Names next_actions, next_action_valid;
  bool never_terminates = false;  // if true, terminals are not required
  // Whether the next observation of the last step of an episode is used even if it equals the first
  // observation of the following episode. Some writers store that first observation by mistake.
  bool trust_equal_successors = true;
  bool true_successors = false;  // see LoggedSteps

  Names all() const;
};

// The names of the arrays that a file contains, and their sizes.
struct FlatLayout {
  std::string obs, actions, rewards;
  std::optional<std::string> terminals, timeouts, ends, starts, last_obs;
  std::optional<std::string> next_obs, next_actions, next_valid;
  bool dones = false;    // `terminals` is one of FlatKeys::terminals_fallback
  bool choices = false;  // actions are discrete
  int64_t rows = 0, obs_dim = 0, action_dim = 0;
};

// Finds the arrays of a file and checks that their shapes match, without reading the data. `stated`
// is true if the actions are known to be discrete, and false if they are known to be continuous. If
// `stated` is empty, a vector of integers counts as discrete. Discrete actions are one number per
// row, as a vector or as a matrix with one column.
FlatLayout find_flat_layout(ArraySource& source, const FlatKeys& keys, std::optional<bool> stated);

}  // namespace rl_training
