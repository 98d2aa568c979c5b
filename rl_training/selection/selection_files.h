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
  double regret_1 = 0, regret_3 = 0;  // in returns
};
SelectionTruth compare_with_truth(const std::vector<PolicyEstimate>& estimates);

// {"policies": [{run, checkpoint, value, low, high, rank, soft_opc, td_error}], ...}, and with
// true returns their comparison.
Json selection_json(const std::vector<PolicyEstimate>& estimates, const Selection& selection);

// Estimates with their intervals, the best first; with true returns a second chart against these.
std::vector<Chart> selection_charts(const std::vector<PolicyEstimate>& estimates);

// Writes the estimates of a run's policies to RUN/selection.json.
void write_into_runs(const std::vector<PolicyEstimate>& estimates, const Selection& selection);

}  // namespace rl_training
