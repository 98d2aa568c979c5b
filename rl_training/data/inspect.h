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

// The report of `rl_training dataset inspect` about a file.
struct DatasetReport {
  std::string kind;
  DatasetFileSummary file;
  TimeoutPolicy timeout_policy = TimeoutPolicy::drop;
  int64_t transitions = 0;  // rows that are usable under timeout_policy
  int64_t choices = 0;      // number of discrete actions; 0 if actions are continuous
  double transitions_reward_sum = 0;
  int64_t transitions_terminals = 0;
  std::string fingerprint;  // identifies the transitions
  // One range per dimension, over all steps of the file. Actions are in the units of the file.
  std::vector<ValueRange> obs, actions;
  std::vector<std::string> observation_names, action_names;  // per dimension; empty if unknown
  ValueRange reward, episode_return, episode_length;
  Histogram reward_histogram, return_histogram, length_histogram;
  // One histogram per dimension. For discrete actions, each action has its own bin.
  std::vector<Histogram> action_histograms;
  std::vector<DatasetWarning> warnings;

  Json to_json() const;
};

// Computes only the warnings of the report. Does not warn about files without transitions.
std::vector<DatasetWarning> find_dataset_warnings(const LoggedSteps& steps, const std::string& kind,
                                                  const DatasetReadOptions& options);

DatasetReport inspect_steps(const LoggedSteps& steps, const std::string& kind,
                            const DatasetReadOptions& options);
// `kind` may be "auto".
DatasetReport inspect_dataset(const std::string& kind, const std::string& path,
                              const DatasetReadOptions& options = {});

}  // namespace rl_training
