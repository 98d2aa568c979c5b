#pragma once
#include <string>
#include <vector>

#include "rl_training/data/inspect.h"
#include "rl_training/util/json.h"

namespace rl_training {

// Suggests algorithms from the statistics of a dataset, with reasons. The suggestions follow rules
// of thumb, which docs/choosing.md explains.
struct AlgorithmAdvice {
  struct Choice {
    std::string algo, config;  // `config`: a packaged config to start from
    std::string command;       // command that trains on the dataset's file
    std::vector<std::string> reasons;
    double score = 0;
  };
  std::vector<std::string> findings;
  std::vector<Choice> choices;  // best first, at most four

  Json to_json() const;
};

// `path` is the file of the dataset, `keys` is the value of `dataset_keys`, and `env_id` is "" if
// there is no environment.
AlgorithmAdvice advise_algorithms(const DatasetReport& report, const std::string& path,
                                  const std::string& keys, const std::string& env_id);

}  // namespace rl_training
