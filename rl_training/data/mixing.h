#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "rl_training/data/transition_dataset.h"

namespace rl_training {

struct DatasetPart {
  TransitionDataset dataset;
  double weight = 1;
  std::string name = "";  // for error messages; if "", messages use the index of the part
};

// Returns a dataset of `size` rows in which the share of each part is proportional to its weight.
// If `size` is 0, the result has as many rows as all parts together. Whole episodes are drawn at
// random, and every episode of a part is drawn once before any is repeated. Only the last episode
// drawn from a part may be cut. The same arguments always produce bit-identical results.
//
// If a part stores next actions, the mixture stores them for all rows. The next actions of the
// other parts are derived from the order of their rows. Throws Error{data} if the spaces of the
// parts differ or a part has no rows. Throws Error{config} if `parts` is empty, a weight is not
// positive and finite, or `size` is negative.
TransitionDataset mix_transition_datasets(std::span<const DatasetPart> parts, int64_t size,
                                          uint64_t seed);

}  // namespace rl_training
