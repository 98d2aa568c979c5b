#pragma once
#include <string>
#include <vector>

#include "rl_training/data/inspect.h"
#include "rl_training/util/json.h"

namespace rl_training {

// What the statistics of a dataset suggest about the choice of an algorithm: rules of thumb with
// their reasons, not results. docs/choosing.md explains them.
struct AlgorithmAdvice {
  struct Choice {
    std::string algo, config;  // a packaged config to start from
    std::string command;       // which trains on this very file
    std::vector<std::string> reasons;
    double score = 0;
  };
  std::vector<std::string> findings;
  std::vector<Choice> choices;  // best first, at most four

  Json to_json() const;
};

// `env_id` may be "": without an environment.
AlgorithmAdvice advise_algorithms(const DatasetReport& report, const std::string& path,
                                  const std::string& keys, const std::string& env_id);

}  // namespace rl_training
