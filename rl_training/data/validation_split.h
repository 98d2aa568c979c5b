#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "rl_training/util/options.h"

namespace rl_training {

// `validation:`, whole episodes that are held out of training.
struct ValidationOptions {
  bool used = false;
  double fraction = 0.1;            // of the episodes
  std::optional<int64_t> episodes;  // number of episodes, instead of a fraction
  int64_t seed = 0;

  void visit_options(OptionVisitor& options);
};

// Indices of episodes in ascending order; every episode is in one of the two lists.
struct EpisodeSplit {
  std::vector<int64_t> training, held_out;
};

// Selects the held-out episodes among `episodes`, at least one, by the options' seed. Throws
// Error{config} if none would remain for training.
EpisodeSplit split_episodes(int64_t episodes, const ValidationOptions& options);

}  // namespace rl_training
