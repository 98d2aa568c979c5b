#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "rl_training/util/options.h"

namespace rl_training {

// Whether large or small values are good.
enum class MetricMode { max, min };
using TrialValues = std::vector<std::optional<double>>;

// Successive halving: all trials for `min_timesteps`, the best 1 / factor of them `factor` times as
// long, and so on until the end of their runs.
struct HalvingOptions {
  bool used = false;
  int64_t min_timesteps = 1000, factor = 3;

  void visit_options(OptionVisitor& options);
};

// What rounds depend on. Without halving there is one, which trains all trials to the end.
struct RoundRules {
  HalvingOptions halving;
  MetricMode mode = MetricMode::max;
  int64_t length = 0;         // of the runs
  int64_t eval_interval = 1;  // pauses are multiples of it
  size_t trials = 0;
};

struct SweepRound {
  std::optional<int64_t> pause_at;  // none: the end of the runs
  std::vector<size_t> trials;
  TrialValues values = {};  // of the trials, once it is over
};

// The round after those, or the last one again.
SweepRound next_round(const RoundRules& rules, const std::vector<SweepRound>& past);

// Where trials pause to be compared: after min_timesteps, then `factor` times as far, ..., and none
// for the end.
std::vector<std::optional<int64_t>> rung_positions(const RoundRules& rules);

// The best ceil(n / factor) of these trials, in the order of their numbers. A trial without a value
// is behind all others; of equal ones the earlier is better.
std::vector<size_t> survivors(const std::vector<size_t>& trials, const TrialValues& values,
                              int64_t factor, MetricMode mode);
// Trials from best to worst, with the same rules.
std::vector<size_t> ranked(const std::vector<size_t>& trials, const TrialValues& values,
                           MetricMode mode);

}  // namespace rl_training
