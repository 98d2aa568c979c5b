#pragma once
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// The best `fraction` of the episodes by discounted return, rounded down but at least one. Among
// equal returns the earlier episode is kept. The order of the episodes does not change.
TransitionDataset keep_best_episodes(const TransitionDataset& dataset, double fraction,
                                     double gamma);

}  // namespace rl_training
