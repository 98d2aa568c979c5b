#pragma once
#include <functional>
#include <memory>
#include <string>

#include "rl_training/experiment/train_config.h"

namespace rl_training {

// The fingerprint of a run without a dataset.
inline constexpr char kNoDataset[] = "none";

// The data of a run and its reward transform. Contains no rows if the run learns only from the
// environment.
struct RunData {
  EnvSpec env;  // from the environment, or derived from the data
  std::shared_ptr<const TransitionDataset> rows;
  double mean_return = 0;  // of training and held-out episodes, before the reward transform
  RewardTransform reward;
  std::vector<std::string> warnings;         // about the data, as in `dataset inspect`
  std::optional<ReferenceScores> reference;  // from the data's metadata
  std::string fingerprint = kNoDataset;      // covers all data, including held-out episodes
  // Held-out rows (`validation`), which are used only for measurements.
  std::shared_ptr<const TransitionDataset> held_out;
  std::vector<int64_t> held_out_episodes;  // indices of the held-out episodes in the full dataset
};

struct RunDataOptions {
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  const EnvSpec* spaces = nullptr;  // spaces of a resumed run without an environment
};

// Loads the dataset of the config with the columns that its algorithm needs. Throws Error{data} if
// the dataset lacks them.
RunData load_run_data(const TrainConfig& config, const RunDataOptions& options);

// Returns the transform of collected rewards. It is the transform of the dataset, unless
// `env_kwargs.wrappers.reward` sets another one.
RewardTransform collected_reward(const TrainConfig& config, const RunData& data,
                                 const std::function<void(const std::string&)>& warn);

}  // namespace rl_training
