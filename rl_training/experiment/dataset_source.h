#pragma once
#include <functional>
#include <optional>

#include "rl_training/data/key_map.h"
#include "rl_training/data/memory_arrays.h"
#include "rl_training/data/reward_transform.h"
#include "rl_training/data/transition_dataset.h"
#include "rl_training/envs/env_options.h"
#include "rl_training/envs/environment.h"
#include "rl_training/envs/reference_scores.h"
#include "rl_training/util/options.h"

namespace rl_training {

// `env_id` of a run that learns from data alone. It is neither evaluated nor can it collect.
inline constexpr char kNoEnvironment[] = "none";

// `dataset_kind` of arrays that the training program holds (memory_arrays.h).
inline constexpr char kMemoryKind[] = "memory";

// One source of transitions: `dataset_kind`, `dataset_path`, ... or an entry of `dataset_mix`.
struct DatasetSource {
  std::string kind = "random";
  std::string path;  // file kinds
  std::string id;    // recipes, Minari (there several, with commas in between)
  int64_t size = 0;
  int64_t seed = 0;
  double weight = 1;  // in a mixture
  // Of kind `memory`: no key, given by the program that trains.
  std::shared_ptr<const MemoryArrays> arrays = {};

  // Keys are `<prefix>kind`, `<prefix>path`, ...
  void visit_options(OptionVisitor& options, const std::string& prefix, bool in_mix);
  // Error{config} if a key is missing or does not belong to the kind.
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
  std::vector<double> action_low, action_high;  // without an environment; one stands for all
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
  // Hears of a cache that cannot be used, and of bounds that are guessed.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  double gamma = 1.0;  // discounts the returns by which the best episodes are chosen
  // Without an environment: whether the algorithm takes actions as choices, and the spaces, where
  // they are known already.
  bool discrete_actions = false;
  const EnvSpec* spaces = nullptr;
};

struct LoadedDataset {
  TransitionDataset rows;
  RewardTransform reward;                         // that was applied
  EnvSpec env;                                    // without an environment: what the data say
  std::vector<std::string> warnings = {};         // of the data doctor, "FILE: code: message"
  std::optional<ReferenceScores> reference = {};  // that a Minari dataset states
};

// Reads, makes or mixes the dataset; actions come out scaled to [-1, 1], rewards transformed as the
// options say. A dataset that does not fit the environment is Error{data}. `env_id` may be `none`:
// then the spaces come from the files and from action_low and action_high.
LoadedDataset load_dataset(const DatasetOptions& options, const std::string& env_id,
                           const DatasetContext& context = {});

// The rows alone.
TransitionDataset load_transition_dataset(const DatasetOptions& options, const std::string& env_id,
                                          const DatasetContext& context = {});

}  // namespace rl_training
