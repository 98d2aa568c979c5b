#pragma once
#include <functional>
#include <optional>

#include "rl_training/data/key_map.h"
#include "rl_training/data/reward_transform.h"
#include "rl_training/data/transition_dataset.h"
#include "rl_training/envs/env_options.h"
#include "rl_training/util/options.h"

namespace rl_training {

// One source of transitions: `dataset_kind`, `dataset_path`, ... or an entry of `dataset_mix`.
struct DatasetSource {
  std::string kind = "random";
  std::string path;  // file kinds
  std::string id;    // recipes, Minari (there several, with commas in between)
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
  KeyMap keys;
  bool has_keys = false;
  bool allow_nonfinite = false;
  std::string cache = "auto";
  RewardTransformSpec reward;

  void visit_options(OptionVisitor& options);
  void check() const;
};

// What surrounds a dataset when it is loaded.
struct DatasetContext {
  EnvOptions env = {};
  // Hears of a cache that cannot be used.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  double gamma = 1.0;  // discounts the returns by which the best episodes are chosen
  RewardTransform* applied = nullptr;  // becomes the reward transform that was used
};

// Reads, makes or mixes the dataset; actions come out scaled to [-1, 1], rewards transformed as the
// options say. A dataset that does not fit the environment is Error{data}.
TransitionDataset load_transition_dataset(const DatasetOptions& options, const std::string& env_id,
                                          const DatasetContext& context = {});

}  // namespace rl_training
