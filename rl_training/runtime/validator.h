#pragma once
#include <memory>

#include "rl_training/algorithms/algorithm.h"
#include "rl_training/data/normalizer.h"
#include "rl_training/data/transition_dataset.h"
#include "rl_training/runtime/loop_metrics.h"

namespace rl_training {

// Measures a policy and its values on held-out episodes. It uses no random values and has no side
// effects, so the same networks always give the same metrics.
class Validator {
 public:
  struct Options {
    double gamma = 0.99;
    bool remembers = false;  // the policy has memory, so episodes are processed step by step
    // At most this many rows are used, evenly spaced. The action error of a policy with memory
    // instead uses whole episodes from the first one on, until they have at least this many rows.
    int64_t max_rows = 10000;
  };

  Validator(std::shared_ptr<const TransitionDataset> held_out, const Options& options);

  ValidationMetrics run(Algorithm& algorithm, const ObsNormalizer& normalizer) const;

 private:
  struct Sums;
  void add_rows(Algorithm& algorithm, const ObsNormalizer& normalizer,
                std::span<const int64_t> rows, Sums& sums) const;
  double initial_value(Algorithm& algorithm, const ObsNormalizer& normalizer) const;
  double action_error_in_episodes(Algorithm& algorithm, const ObsNormalizer& normalizer) const;

  std::shared_ptr<const TransitionDataset> data_;
  Options options_;
  std::vector<int64_t> rows_;    // rows that are used
  std::vector<int64_t> starts_;  // first rows of episodes
};

}  // namespace rl_training
