#pragma once
#include <string>
#include <vector>

#include "rl_training/render/chart.h"
#include "rl_training/selection/selection.h"

namespace rl_training {

// How well estimates rank policies whose returns are known.
struct SelectionTruth {
  double spearman = 0;
  double range = 0;                   // range of the true returns
  double regret_1 = 0, regret_3 = 0;  // in units of the return
};
SelectionTruth compare_with_truth(const std::vector<PolicyEstimate>& estimates);

// {"policies": [{run, checkpoint, value, low, high, rank, soft_opc, td_error, ...}], ...}. If true
// returns are known, the object also contains their comparison with the estimates.
Json selection_json(const std::vector<PolicyEstimate>& estimates, const Selection& selection);

// A chart of the estimates with their intervals, the best first. If true returns are known, a
// second chart plots the estimates against the true returns.
std::vector<Chart> selection_charts(const std::vector<PolicyEstimate>& estimates);

// For each run, writes the estimates of its policies to RUN/selection.json.
void write_into_runs(const std::vector<PolicyEstimate>& estimates, const Selection& selection);

}  // namespace rl_training
