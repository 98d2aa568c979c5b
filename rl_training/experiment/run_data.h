#pragma once
#include <functional>
#include <memory>
#include <string>

#include "rl_training/experiment/train_config.h"

namespace rl_training {

// A run without a dataset has this in place of a fingerprint.
inline constexpr char kNoDataset[] = "none";

// What a run learns from, and how its rewards were transformed; no rows for a run that learns from
// the environment alone.
struct RunData {
  EnvSpec env;  // the environment's, or what the data say
  std::shared_ptr<const TransitionDataset> rows;
  RewardTransform reward;
  std::vector<std::string> warnings;         // of the data doctor
  std::optional<ReferenceScores> reference;  // that the data state
  std::string fingerprint = kNoDataset;      // of all data, those held out included
  // Of `validation`: no rows to learn from, but to measure on.
  std::shared_ptr<const TransitionDataset> held_out;
  std::vector<int64_t> held_out_episodes;  // their indices in the dataset
};

struct RunDataOptions {
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  const EnvSpec* spaces = nullptr;  // of a resumed run without an environment
};

// The dataset of the config as its algorithm needs it. Error{data} if it cannot serve.
RunData load_run_data(const TrainConfig& config, const RunDataOptions& options);

// How collected rewards are transformed: like the dataset's, unless they have their own keys.
RewardTransform collected_reward(const TrainConfig& config, const RunData& data,
                                 const std::function<void(const std::string&)>& warn);

}  // namespace rl_training
