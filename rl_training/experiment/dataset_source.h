#pragma once
#include "rl_training/data/transition_dataset.h"
#include "rl_training/util/options.h"

namespace rl_training {

// Where the transitions come from: the `dataset_*` keys of algo_kwargs.
struct DatasetOptions {
  std::string kind = "random";
  std::string path;  // file kinds
  std::string id;    // recipes
  int64_t size = 0;
  int64_t seed = 0;
  bool normalize_observations = true;

  void visit_options(OptionVisitor& options);
  // Error{config} where a key is missing or does not belong to the kind.
  void check() const;
};

// Reads or makes the dataset; actions come out scaled to [-1, 1]. A dataset that does not fit the
// environment is Error{data}.
TransitionDataset load_transition_dataset(const DatasetOptions& options, const std::string& env_id);

}  // namespace rl_training
