#include "rl_training/sweep/halving.h"

#include <algorithm>
#include <numeric>

namespace rl_training {

void HalvingOptions::visit_options(OptionVisitor& options) {
  options.integer("min_timesteps", min_timesteps, at_least(1),
                  "length of the first round, in updates or environment steps");
  options.integer("factor", factor, between(2, 100),
                  "one in this many trials continues after a round");
}

std::vector<std::optional<int64_t>> rung_positions(const RoundRules& rules) {
  std::vector<std::optional<int64_t>> rungs;
  const auto rounded = [&](int64_t position) {
    return (position + rules.eval_interval - 1) / rules.eval_interval * rules.eval_interval;
  };
  const auto& halving = rules.halving;
  for (int64_t position = halving.min_timesteps; halving.used && rounded(position) < rules.length;
       position *= halving.factor) {
    if (rungs.empty() || rounded(position) > *rungs.back()) rungs.emplace_back(rounded(position));
  }
  rungs.emplace_back(std::nullopt);
  return rungs;
}

SweepRound next_round(const RoundRules& rules, const std::vector<SweepRound>& past) {
  const auto rungs = rung_positions(rules);
  SweepRound round;
  round.pause_at = rungs[std::min(past.size(), rungs.size() - 1)];
  if (past.empty()) {
    round.trials.resize(rules.trials);
    std::iota(round.trials.begin(), round.trials.end(), size_t{0});
  } else {
    const auto& last = past.back();
    round.trials = survivors(last.trials, last.values, rules.halving.factor, rules.mode);
  }
  return round;
}

std::vector<size_t> ranked(const std::vector<size_t>& trials, const TrialValues& values,
                           MetricMode mode) {
  std::vector<size_t> places(trials.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::stable_sort(places.begin(), places.end(), [&](size_t a, size_t b) {
    if (!values[a] || !values[b]) return values[a].has_value() && !values[b];
    return mode == MetricMode::max ? *values[a] > *values[b] : *values[a] < *values[b];
  });
  std::vector<size_t> order;
  order.reserve(places.size());
  for (const size_t place : places) order.push_back(trials[place]);
  return order;
}

std::vector<size_t> survivors(const std::vector<size_t>& trials, const TrialValues& values,
                              int64_t factor, MetricMode mode) {
  auto order = ranked(trials, values, mode);
  const auto count = static_cast<size_t>(factor);
  order.resize((trials.size() + count - 1) / count);
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace rl_training
