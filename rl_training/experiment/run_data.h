#pragma once
#include <functional>
#include <memory>
#include <string>

#include "rl_training/experiment/train_config.h"

namespace rl_training {

// Replaces the fingerprint in a run without a dataset.
inline constexpr char kNoDataset[] = "none";

// The data of a run and its reward transform; without rows if the run learns from the environment
// alone.
struct RunData {
  EnvSpec env;  // from the environment, or derived from the data
  std::shared_ptr<const TransitionDataset> rows;
  double mean_return = 0;  // of all episodes, before the transform of rewards
  RewardTransform reward;
  std::vector<std::string> warnings;         // of `dataset inspect`
  std::optional<ReferenceScores> reference;  // from the data's metadata
  std::string fingerprint = kNoDataset;      // of all data, including held-out episodes
  // Held-out rows (`validation`), used only for measurements.
  std::shared_ptr<const TransitionDataset> held_out;
  std::vector<int64_t> held_out_episodes;  // their indices in the dataset
};

struct RunDataOptions {
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  const EnvSpec* spaces = nullptr;  // of a resumed run without an environment
};

// Loads the dataset of the config with the columns that its algorithm needs; throws Error{data} if
// it lacks them.
RunData load_run_data(const TrainConfig& config, const RunDataOptions& options);

// How collected rewards are transformed: like the dataset's, unless they have their own keys.
RewardTransform collected_reward(const TrainConfig& config, const RunData& data,
                                 const std::function<void(const std::string&)>& warn);

}  // namespace rl_training
