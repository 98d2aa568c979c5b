#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "rl_training/util/options.h"

namespace rl_training {

// Whether larger or smaller values are better.
enum class MetricMode { max, min };
using TrialValues = std::vector<std::optional<double>>;

// Successive halving: trains all trials to the position `min_timesteps`. Then trains the best
// 1 / factor of them to `factor` times this position, and so on until the end of the runs.
struct HalvingOptions {
  bool used = false;
  int64_t min_timesteps = 1000, factor = 3;

  void visit_options(OptionVisitor& options);
};

// Parameters of the rounds. Without halving, a single round trains all trials to the end.
struct RoundRules {
  HalvingOptions halving;
  MetricMode mode = MetricMode::max;
  int64_t length = 0;         // length of the runs
  int64_t eval_interval = 1;  // pauses are multiples of this interval
  size_t trials = 0;
};

struct SweepRound {
  std::optional<int64_t> pause_at;  // position to train to; nullopt: the end of the runs
  std::vector<size_t> trials;
  TrialValues values = {};  // values of the trials after the round
};

// The next round. Once a round has trained to the end of the runs, every later round also trains to
// the end.
SweepRound next_round(const RoundRules& rules, const std::vector<SweepRound>& past);

// Positions at which trials pause for comparison: min_timesteps, then `factor` times that, and so
// on, each rounded up to a multiple of the evaluation interval. The last entry is nullopt, which
// means the end of the runs.
std::vector<std::optional<int64_t>> rung_positions(const RoundRules& rules);

// The best ceil(n / factor) of these trials, sorted by number. A trial without a value ranks last.
// Among equal values, the earlier trial ranks higher.
std::vector<size_t> survivors(const std::vector<size_t>& trials, const TrialValues& values,
                              int64_t factor, MetricMode mode);
// The trials from best to worst, with the ranking rules of survivors().
std::vector<size_t> ranked(const std::vector<size_t>& trials, const TrialValues& values,
                           MetricMode mode);

}  // namespace rl_training
