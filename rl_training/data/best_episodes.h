#pragma once
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// The best `fraction` of the episodes by discounted return, rounded down but at least one; of equal
// ones those that come first. They stay in their order.
TransitionDataset keep_best_episodes(const TransitionDataset& dataset, double fraction,
                                     double gamma);

}  // namespace rl_training
