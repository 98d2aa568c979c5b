#pragma once
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// Marks every last row of an episode that has no flag as ended by time-out. Such a row is the last
// one because the row after it was dropped, missing or cut off; its own successor is known, so it
// is a truncated step. Without the mark, readers of a written file cannot see where the episode
// ends. Known next actions are kept. Nothing else changes.
TransitionDataset with_marked_ends(const TransitionDataset& dataset);

}  // namespace rl_training
