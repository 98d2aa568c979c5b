#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "rl_training/data/transition_dataset.h"

namespace rl_training {

struct DatasetPart {
  TransitionDataset dataset;
  double weight = 1;
  std::string name = "";  // for messages; "": its number
};

// A dataset of `size` rows (0: the sum of all parts) with a share of each part by its weight. Whole
// episodes are drawn, each once before any is repeated; only the last episode of a part may be cut.
// The same seed gives the same bits. If a part came with next actions, the mixture has them for all
// rows, where those of the other parts are derived from the order of their rows. Throws Error{data}
// if parts do not match or are empty, and Error{config} for bad weights.
TransitionDataset mix_transition_datasets(std::span<const DatasetPart> parts, int64_t size,
                                          uint64_t seed);

}  // namespace rl_training
