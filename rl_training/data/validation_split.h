#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "rl_training/util/options.h"

namespace rl_training {

// The config section `validation:`, which holds out whole episodes from training.
struct ValidationOptions {
  bool used = false;
  double fraction = 0.1;            // fraction of the episodes
  std::optional<int64_t> episodes;  // number of episodes; replaces `fraction`
  int64_t seed = 0;

  void visit_options(OptionVisitor& options);
};

// Indices of episodes in ascending order; every episode is in exactly one of the two lists.
struct EpisodeSplit {
  std::vector<int64_t> training, held_out;
};

// Holds out at least one of `episodes` episodes, selected at random with the seed in the options.
// Throws Error{config} if no episode would remain for training.
EpisodeSplit split_episodes(int64_t episodes, const ValidationOptions& options);

}  // namespace rl_training
