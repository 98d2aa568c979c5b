#pragma once
#include <span>
#include <string>
#include <vector>

#include "rl_training/data/array_source.h"
#include "rl_training/data/logged_steps.h"

namespace rl_training {

// Names under which a file may store each thing, all arrays having one entry for each step.
// Required are observations, actions, rewards and terminals.
struct FlatKeys {
  using Names = std::vector<std::string>;
  Names obs, actions, rewards, terminals, timeouts, next_obs;
  // Used only where none of `terminals` is there: marks of every end, time-outs perhaps included.
  Names terminals_fallback;
  Names episode_ends;  // marks every last step, whatever ended the episode
  Names episode_starts;
  Names next_actions, next_action_valid;
  // Whether a last step's next observation is believed even where it equals the first observation
  // of the following episode. Some writers put that there for want of the true one.
  bool trust_equal_successors = true;
  bool true_successors = false;  // see LoggedSteps

  Names all() const;
};

// Reads such a file, observations and actions into `memory`. Shapes are checked against each other
// before any data are read.
LoggedSteps read_flat_steps(ArraySource& source, const std::string& file, const FlatKeys& keys,
                            const DatasetReadOptions& options, ArrayMemory& memory);

// Helpers for readers of other layouts; every problem is Error{data} at `place` with the row.
void check_finite(const ErrorPlace& place, std::span<const float> values, int64_t columns,
                  int64_t first_row = 0);
void check_finite(const ErrorPlace& place, std::span<const double> values, int64_t columns,
                  int64_t first_row = 0);
std::vector<uint8_t> to_flags(const ErrorPlace& place, std::span<const double> values,
                              int64_t first_row = 0);
void check_action_dim(const ErrorPlace& place, const DatasetReadOptions& options, int64_t dims);
// Actions of `dims` columns, scaled to [-1, 1] if the options tell their bounds.
void read_actions(ArraySource& source, const std::string& key, int64_t dims,
                  const DatasetReadOptions& options, std::span<float> out);

}  // namespace rl_training
