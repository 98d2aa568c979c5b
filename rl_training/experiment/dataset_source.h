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

// `env_id` of a run that learns from data alone, without evaluation or collection.
inline constexpr char kNoEnvironment[] = "none";

// `dataset_kind` of arrays in the memory of the training program (memory_arrays.h).
inline constexpr char kMemoryKind[] = "memory";

// One source of transitions. The config describes it with `dataset_kind`, `dataset_path`, ... or
// with an entry of `dataset_mix`.
struct DatasetSource {
  std::string kind = "random";
  std::string path;  // for kinds that read a file
  std::string id;    // name of a recipe, or comma-separated Minari ids
  int64_t size = 0;
  int64_t seed = 0;
  double weight = 1;  // weight in a mixture
  // Only for kind `memory`. The host program passes the arrays; no config key sets them.
  std::shared_ptr<const MemoryArrays> arrays = {};

  // Keys are `<prefix>kind`, `<prefix>path`, ...
  void visit_options(OptionVisitor& options, const std::string& prefix, bool in_mix);
  // Throws Error{config} if a required key is missing, or if a key is set that the kind does not
  // use.
  void check(const std::string& prefix) const;
};

// The keys of algo_kwargs that describe the data.
struct DatasetOptions {
  DatasetSource source;
  std::vector<DatasetSource> mix;
  int64_t mix_size = 0, mix_seed = 0;
  double top_fraction = 1;
  bool normalize_observations = true;
  std::string actions = "environment";
  // Only for runs without an environment. A single value applies to all columns.
  std::vector<double> action_low, action_high;
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

// Context for loading a dataset.
struct DatasetContext {
  EnvOptions env = {};
  // Receives warnings about an unusable cache and about assumed bounds.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  double gamma = 1.0;  // discount factor of the returns that rank episodes (top_fraction)
  // Only for runs without an environment: whether the algorithm has discrete actions, and the
  // spaces if they are already known.
  bool discrete_actions = false;
  const EnvSpec* spaces = nullptr;
};

struct LoadedDataset {
  TransitionDataset rows;
  double mean_return = 0;                  // before the reward transform
  RewardTransform reward;                  // the applied transform
  EnvSpec env;                             // derived from the data if there is no environment
  std::vector<std::string> warnings = {};  // as in `dataset inspect`, "FILE: code: message"
  std::optional<ReferenceScores> reference = {};  // from the metadata of a Minari dataset
};

// Reads, generates or mixes the dataset, scales actions to [-1, 1] and transforms rewards. If
// `env_id` is `none`, the spaces come from the files and from action_low and action_high. Throws
// Error{data} if the dataset does not match the environment.
LoadedDataset load_dataset(const DatasetOptions& options, const std::string& env_id,
                           const DatasetContext& context = {});

// Returns only the rows of load_dataset.
TransitionDataset load_transition_dataset(const DatasetOptions& options, const std::string& env_id,
                                          const DatasetContext& context = {});

}  // namespace rl_training
