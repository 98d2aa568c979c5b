#pragma once
#include <cstdint>
#include <span>

#include "rl_training/data/transition_dataset.h"

namespace rl_training {

struct DatasetPart {
  TransitionDataset dataset;
  double weight = 1;
};

// A dataset of `size` rows (0: as many as all parts have) that takes from each part a share by its
// weight. Whole episodes are drawn, each once before any comes again; only the last one of a part
// may be cut. The same seed gives the same bits. If a part came with next actions, the mixture
// has them for all rows, those of the other parts being derived from the order of their rows.
// Parts that do not fit each other or are empty: Error{data}; bad weights: Error{config}.
TransitionDataset mix_transition_datasets(std::span<const DatasetPart> parts, int64_t size,
                                          uint64_t seed);

}  // namespace rl_training
