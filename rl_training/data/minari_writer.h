#pragma once
#include <string>

#include "rl_training/data/space.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

struct MinariDetails {
  std::string dataset_id;         // "": the name of the directory
  const Space* bounds = nullptr;  // of the environment, for the action space
  bool scale_actions = false;     // from [-1, 1] to the bounds
  std::string algorithm_name = "unknown";
};

// Creates a Minari dataset in the layout of 0.5: data/main_data.hdf5 with one group per episode,
// and data/metadata.json. The name of `directory` must end in a version such as -v0, and it must
// not exist yet. Reading it gives the same transitions. An episode that ends without a flag is
// stored as truncated; this, and the actions that followed such episodes, are recorded in
// additional arrays, which Minari ignores.
void save_minari_dataset(const TransitionDataset& dataset, const std::string& directory,
                         const MinariDetails& details = {});

}  // namespace rl_training
