#pragma once
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// If an episode ends without a flag, marks its last row as a time-out. Such an episode ends because
// the following row was dropped, cut off or missing. The successor of its last row is known, so
// this row is a valid truncated step. Without the mark, other programs that read a written file
// could not detect the end of the episode. Next actions and all other data do not change.
TransitionDataset with_marked_ends(const TransitionDataset& dataset);

}  // namespace rl_training
