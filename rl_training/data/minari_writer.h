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

// Makes `directory` a Minari dataset in the layout of 0.5: data/main_data.hdf5, one group for
// each episode, and data/metadata.json. Its name must end in a version, -v0 say, and nothing may be
// there yet. Reading it gives the same transitions. For Minari an episode which ends without a flag
// ends truncated; that and actions known to have followed a cut episode are in additional arrays,
// which Minari ignores.
void save_minari_dataset(const TransitionDataset& dataset, const std::string& directory,
                         const MinariDetails& details = {});

}  // namespace rl_training
