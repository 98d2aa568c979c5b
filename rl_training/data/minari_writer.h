#pragma once
#include <string>

#include "rl_training/data/space.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

struct MinariDetails {
  std::string dataset_id;         // if "", the name of the directory is used
  const Space* bounds = nullptr;  // action space of the environment
  bool scale_actions = false;     // whether to scale actions from [-1, 1] to `bounds`
  std::string algorithm_name = "unknown";
};

// Creates a Minari dataset in the layout of version 0.5: data/main_data.hdf5 with one group per
// episode, and data/metadata.json. The dataset id must end in a version such as -v0, and
// `directory` must not exist yet. Reading the dataset returns the same transitions, except for the
// rounding of scaled actions. An episode that ends without a flag is stored as truncated.
// Additional arrays, which Minari ignores, mark these episodes and store the next actions of
// with_known_next_actions().
void save_minari_dataset(const TransitionDataset& dataset, const std::string& directory,
                         const MinariDetails& details = {});

}  // namespace rl_training
