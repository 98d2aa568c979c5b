#include "rl_training/deploy/verification.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "rl_training/deploy/c_compiler.h"
#include "rl_training/deploy/c_header.h"
#include "rl_training/deploy/onnx_file.h"
#include "rl_training/experiment/run_data.h"

namespace rl_training {
namespace {

// Scores whose relative difference is smaller than this count as equal up to float32 rounding.
constexpr double kUndecided = 1e-5;
constexpr size_t kExamples = 8, kExamplePool = 50;

using Rows = std::vector<std::vector<double>>;

Rows dataset_observations(const TransitionDataset& data, int64_t count) {
  Rows rows;
  for (int64_t i = 0; i < count; ++i) {
    const float* obs = data.obs(i * data.rows() / count);
    rows.emplace_back(obs, obs + data.obs_dim());
  }
  return rows;
}

Rows random_observations(TrainedPolicy& policy, int64_t count) {
  const auto& normalizer = policy.normalizer();
  Rng rng(0, "export");
  Rows rows;
  for (int64_t i = 0; i < count; ++i) {
    auto& row = rows.emplace_back();
    for (size_t j = 0; j < normalizer.mean().size(); ++j) {
      row.push_back(
          static_cast<float>(normalizer.mean()[j] + normalizer.scale()[j] * rng.normal()));
    }
  }
  return rows;
}

Rows run_written(ExportFormat format, const ExportedPolicy& exported, const std::string& text,
                 const Rows& obs, std::string& method) {
  if (format == ExportFormat::onnx) {
    method = "the written graph, read back";
    return run_onnx(text, obs);
  }
  method = "compiled with cc, self-test passed";
  if (auto actions = run_c_header(exported, text, obs)) return std::move(*actions);
  method = "interpreted, because there is no cc to compile it";
  Rows actions;
  for (const auto& row : obs) actions.push_back(interpret_policy(exported.graph, row).action);
  return actions;
}

// Difference between the best and the second-best score; infinite if there are fewer than two
// scores.
double margin_of(std::vector<double> scores) {
  if (scores.size() < 2) return HUGE_VAL;
  std::partial_sort(scores.begin(), scores.begin() + 2, scores.end(), std::greater<>());
  return scores[0] - scores[1];
}

// Selects rows for the test vectors from a sample of the observations. Uses only the half of the
// sample with the largest margins between the two best scores, so that rounding does not change the
// selected action.
std::vector<size_t> example_rows(const PolicyGraph& graph, const Rows& obs) {
  std::vector<std::pair<double, size_t>> order;
  const size_t step = 1 + obs.size() / kExamplePool;
  for (size_t row = 0; row < obs.size(); row += step) {
    order.emplace_back(-margin_of(interpret_policy(graph, obs[row]).scores), row);
  }
  std::sort(order.begin(), order.end());
  order.resize(std::max(std::min(kExamples, order.size()), order.size() / 2));
  std::vector<size_t> rows;
  for (size_t i = 0; i < kExamples && i < order.size(); ++i) {
    rows.push_back(order[i * order.size() / kExamples].second);
  }
  return rows;
}

// Distance of an action from the nearest action whose score equals the best score up to rounding.
// Float32 rounding decides which of these actions a policy selects.
double nearest_equally_good(const ExportedPolicy& exported, const std::vector<double>& obs,
                            const std::vector<double>& action) {
  const auto scores = interpret_policy(exported.graph, obs).scores;
  if (scores.empty()) return HUGE_VAL;
  const double best = *std::max_element(scores.begin(), scores.end());
  double nearest = HUGE_VAL;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] < best - kUndecided) continue;
    nearest = std::min(
        nearest, action_error(exported, action, interpret_policy(exported.graph, obs, i).action));
  }
  return nearest;
}

}  // namespace

Probes find_probes(TrainedPolicy& policy, int64_t count,
                   const std::function<void(const std::string&)>& note) {
  if (policy.config().has_dataset()) {
    try {
      const auto data = load_run_data(policy.config(), {.warn = note, .spaces = &policy.env()});
      auto rows = dataset_observations(*data.rows, std::min(count, data.rows->rows()));
      const auto more = random_observations(policy, count - static_cast<int64_t>(rows.size()));
      rows.insert(rows.end(), more.begin(), more.end());
      return {rows, data.rows->observation_names(), data.rows->action_names()};
    } catch (const Error& error) {
      note(std::string("the dataset is not available, verifying on random observations (") +
           error.what() + ")");
    }
  }
  return {random_observations(policy, count), {}, {}};
}

Verification write_and_verify(ExportFormat format, TrainedPolicy& policy, const Rows& obs,
                              ExportedPolicy& exported, std::string& text) {
  const auto expected = policy.predict(obs);
  exported.examples.clear();
  for (const size_t row : example_rows(exported.graph, obs)) {
    exported.examples.push_back({obs[row], expected[row]});
  }
  text = format == ExportFormat::c ? write_c_header(exported) : write_onnx(exported);
  Verification result;
  const auto actions = run_written(format, exported, text, obs, result.method);
  result.observations = static_cast<int64_t>(obs.size());
  for (size_t row = 0; row < obs.size(); ++row) {
    double error = action_error(exported, actions[row], expected[row]);
    if (!(error <= kLargestExportError)) {
      const double other = nearest_equally_good(exported, obs[row], actions[row]);
      if (other <= kLargestExportError) ++result.undecided;
      error = std::min(error, other);
    }
    result.max_abs_error = std::max(result.max_abs_error, error);
  }
  return result;
}

}  // namespace rl_training
