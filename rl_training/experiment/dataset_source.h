#pragma once
#include <optional>

#include "rl_training/data/reward_transform.h"
#include "rl_training/data/transition_dataset.h"
#include "rl_training/util/options.h"

namespace rl_training {

// One source of transitions: `dataset_kind`, `dataset_path`, ... or an entry of `dataset_mix`.
struct DatasetSource {
  std::string kind = "random";
  std::string path;  // file kinds
  std::string id;    // recipes, Minari
  int64_t size = 0;
  int64_t seed = 0;
  double weight = 1;  // in a mixture

  // Keys are `<prefix>kind`, `<prefix>path`, ...
  void visit_options(OptionVisitor& options, const std::string& prefix, bool in_mix);
  // Error{config} where a key is missing or does not belong to the kind.
  void check(const std::string& prefix) const;
};

// The data keys of algo_kwargs.
struct DatasetOptions {
  DatasetSource source;
  std::vector<DatasetSource> mix;
  int64_t mix_size = 0, mix_seed = 0;
  double top_fraction = 1;
  bool normalize_observations = true;
  std::string actions = "environment";
  std::string timeout_policy = "auto";
  std::string csv_columns;
  bool allow_nonfinite = false;
  RewardTransformSpec reward;

  void visit_options(OptionVisitor& options);
  void check() const;
};

// Reads, makes or mixes the dataset; actions come out scaled to [-1, 1], rewards transformed as the
// options say. `gamma` discounts the returns by which the best episodes are chosen. A dataset that
// does not fit the environment is Error{data}.
TransitionDataset load_transition_dataset(const DatasetOptions& options, const std::string& env_id,
                                          double gamma = 1.0);

}  // namespace rl_training
