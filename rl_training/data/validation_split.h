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
  std::optional<int64_t> episodes;  // this many instead
  int64_t seed = 0;

  void visit_options(OptionVisitor& options);
};

// Numbers of episodes, each in ascending order; every episode is in one of the two.
struct EpisodeSplit {
  std::vector<int64_t> training, held_out;
};

// Which of `episodes` episodes are held out: drawn by the options' seed only, at least one.
// Error{config} if none would be left to learn from.
EpisodeSplit split_episodes(int64_t episodes, const ValidationOptions& options);

}  // namespace rl_training
