#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rl_training/data/array_source.h"

namespace rl_training {

// Names under which a file may store each array, all with one entry per step.
// Required are observations, actions, rewards and terminals.
struct FlatKeys {
  using Names = std::vector<std::string>;
  Names obs, actions, rewards, terminals, timeouts, next_obs;
  // Used only if none of `terminals` exists: marks every end, possibly including time-outs.
  Names terminals_fallback;
  Names episode_ends;  // marks every last step, whatever ended the episode
  Names episode_starts;
  Names last_observations;  // marks rows that hold only the last observation of an episode
  Names next_actions, next_action_valid;
  bool never_terminates = false;  // then no terminals are needed
  // Whether a last step's next observation is trusted even if it equals the first observation
  // of the following episode. Some writers store that observation instead of the true one.
  bool trust_equal_successors = true;
  bool true_successors = false;  // see LoggedSteps

  Names all() const;
};

// The arrays of a file. Their shapes are checked against each other before any data is read.
struct FlatLayout {
  std::string obs, actions, rewards;
  std::optional<std::string> terminals, timeouts, ends, starts, last_obs;
  std::optional<std::string> next_obs, next_actions, next_valid;
  bool dones = false;    // terminals_fallback was used
  bool choices = false;  // actions are discrete
  int64_t rows = 0, obs_dim = 0, action_dim = 0;
};

// `stated` is whether the actions are discrete, that is, one number per row as a vector or as a
// matrix of one column. If it is unknown, a vector of integers is discrete.
FlatLayout find_flat_layout(ArraySource& source, const FlatKeys& keys, std::optional<bool> stated);

}  // namespace rl_training
