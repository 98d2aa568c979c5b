#include "rl_training/deploy/exported_policy.h"

#include <algorithm>
#include <cmath>

#include "build_info.h"

namespace rl_training {
namespace {

std::vector<float> as_floats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

// Scales from [-1, 1] to the units of the task, like Space::from_unit.
PolicyGraph::Value in_units(PolicyGraph& graph, PolicyGraph::Value unit, const Space& action) {
  std::vector<double> half, center;
  for (size_t i = 0; i < action.low.size(); ++i) {
    half.push_back((action.high[i] - action.low[i]) / 2);
    center.push_back((action.high[i] + action.low[i]) / 2);
  }
  return graph.clamp(graph.scale(unit, as_floats(half), as_floats(center)), as_floats(action.low),
                     as_floats(action.high));
}

}  // namespace

ExportedPolicy export_policy(TrainedPolicy& policy, const std::string& name) {
  const Space &obs = policy.env().observation, &action = policy.env().action;
  if (obs.is_image()) {
    throw Error(ErrorKind::config, {"", 0, "env_id"},
                "cannot be exported: observations are images (expected vectors)");
  }
  ExportedPolicy result;
  result.name = name;
  result.facts = {"algorithm: " + policy.config().algo,
                  "task: " + (policy.config().has_environment() ? policy.env().id
                                                                : "data without an environment"),
                  std::string("program: rl_training ") + RL_TRAINING_VERSION};
  auto& graph = result.graph;
  auto input = graph.obs(obs.size());
  const auto& normalizer = policy.normalizer();
  if (!normalizer.identity()) input = graph.normalize(input, normalizer.mean(), normalizer.scale());
  const auto output = policy.algorithm().describe_policy(graph, input);
  result.action_unit.assign(static_cast<size_t>(action.size()), 1.0);
  if (action.is_discrete()) return result;
  in_units(graph, output, action);
  result.action_low = action.low;
  result.action_high = action.high;
  for (size_t i = 0; i < action.low.size(); ++i) {
    result.action_unit[i] = std::max(1.0, (action.high[i] - action.low[i]) / 2);
  }
  return result;
}

double action_error(const ExportedPolicy& policy, const std::vector<double>& a,
                    const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < policy.action_unit.size(); ++i) {
    const double error = policy.graph.is_choice() ? (a[i] == b[i] ? 0.0 : 1.0)
                                                  : std::abs(a[i] - b[i]) / policy.action_unit[i];
    // NaN counts as an infinite error.
    if (!(error <= largest)) largest = std::isnan(error) ? HUGE_VAL : error;
  }
  return largest;
}

}  // namespace rl_training
