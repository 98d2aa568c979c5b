#pragma once
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// Retains `fraction` of the episodes: those with the highest discounted returns. The number of
// episodes is rounded down, but is at least one. Among equal returns the earlier episode is
// preferred. The order of the episodes does not change.
TransitionDataset keep_best_episodes(const TransitionDataset& dataset, double fraction,
                                     double gamma);

}  // namespace rl_training
