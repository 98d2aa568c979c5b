#include "rl_training/selection/importance.h"

#include <algorithm>
#include <cmath>

namespace rl_training {
namespace {

// Cumulative sums of the log ratios: log w_t.
std::vector<double> log_weights_of(const WeightedEpisode& episode) {
  std::vector<double> weights;
  double sum = 0;
  for (const auto& step : episode) weights.push_back(sum += step.log_ratio);
  return weights;
}

// For each step, the logarithm of the mean weight over episodes. The largest exponent is factored
// out first, because a product of many ratios may exceed the range of a double.
std::vector<double> log_mean_weights(const std::vector<std::vector<double>>& weights) {
  size_t longest = 0;
  for (const auto& each : weights) longest = std::max(longest, each.size());
  std::vector<double> means;
  for (size_t t = 0; t < longest; ++t) {
    const auto at = [&](const auto& each) { return each[std::min(t, each.size() - 1)]; };
    double largest = -HUGE_VAL, sum = 0;
    for (const auto& each : weights) largest = std::max(largest, at(each));
    for (const auto& each : weights) sum += std::exp(at(each) - largest);
    means.push_back(largest + std::log(sum / static_cast<double>(weights.size())));
  }
  return means;
}

}  // namespace

ImportanceEstimates importance_estimates(const std::vector<WeightedEpisode>& episodes,
                                         double gamma) {
  std::vector<std::vector<double>> log_weights;
  log_weights.reserve(episodes.size());
  for (const auto& episode : episodes) log_weights.push_back(log_weights_of(episode));
  const auto means = log_mean_weights(log_weights);
  double largest = -HUGE_VAL;  // largest log weight of a whole episode
  for (const auto& each : log_weights) largest = std::max(largest, each.back());
  ImportanceEstimates sum;
  double weight_sum = 0, square_sum = 0;  // sums over weights divided by e^largest
  for (size_t i = 0; i < episodes.size(); ++i) {
    double discount = 1, plain_return = 0, before = 1;
    for (size_t t = 0; t < episodes[i].size(); ++t) {
      const auto& step = episodes[i][t];
      const double weight = std::exp(log_weights[i][t]);
      plain_return += discount * step.reward;
      sum.per_decision += discount * weight * step.reward;
      sum.weighted_per_decision += discount * std::exp(log_weights[i][t] - means[t]) * step.reward;
      sum.doubly_robust += discount * (weight * (step.reward - step.q) + before * step.v);
      before = weight;
      discount *= gamma;
    }
    const double relative = std::exp(log_weights[i].back() - largest);
    sum.trajectory += before * plain_return;
    sum.weighted_trajectory += relative * plain_return;
    weight_sum += relative;
    square_sum += relative * relative;
  }
  const auto count = static_cast<double>(episodes.size());
  return {sum.trajectory / count,    sum.weighted_trajectory / weight_sum,
          sum.per_decision / count,  sum.weighted_per_decision / count,
          sum.doubly_robust / count, weight_sum * weight_sum / square_sum};
}

}  // namespace rl_training
