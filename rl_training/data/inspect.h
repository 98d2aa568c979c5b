#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rl_training/data/dataset_file.h"
#include "rl_training/data/histogram.h"
#include "rl_training/util/json.h"

namespace rl_training {

struct ValueRange {
  double min = 0, max = 0, mean = 0, std = 0;
};

// What `rl_training dataset inspect` reports about a file.
struct DatasetReport {
  std::string kind;
  DatasetFileSummary file;
  TimeoutPolicy timeout_policy = TimeoutPolicy::drop;
  int64_t transitions = 0;  // usable rows under the policy
  int64_t choices = 0;      // above 0: number of discrete actions
  double transitions_reward_sum = 0;
  int64_t transitions_terminals = 0;
  std::string fingerprint;  // of the transitions
  // Per dimension, over the steps of the file; actions in its units.
  std::vector<ValueRange> obs, actions;
  std::vector<std::string> observation_names, action_names;  // of the dimensions; empty: unknown
  ValueRange reward, episode_return, episode_length;
  Histogram reward_histogram, return_histogram, length_histogram;
  // Per dimension; for discrete actions, a bar per action.
  std::vector<Histogram> action_histograms;
  std::vector<DatasetWarning> warnings;

  Json to_json() const;
};

// Only the warnings, for steps that can become transitions.
std::vector<DatasetWarning> find_dataset_warnings(const LoggedSteps& steps, const std::string& kind,
                                                  const DatasetReadOptions& options);

DatasetReport inspect_steps(const LoggedSteps& steps, const std::string& kind,
                            const DatasetReadOptions& options);
// `kind` may be "auto".
DatasetReport inspect_dataset(const std::string& kind, const std::string& path,
                              const DatasetReadOptions& options = {});

}  // namespace rl_training
