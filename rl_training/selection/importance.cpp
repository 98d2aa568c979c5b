#include "rl_training/selection/importance.h"

#include <algorithm>
#include <cmath>

namespace rl_training {
namespace {

// Products of the ratios, weights[t] = w_t.
std::vector<double> weights_of(const WeightedEpisode& episode) {
  std::vector<double> weights;
  double log_weight = 0;
  for (const auto& step : episode) weights.push_back(std::exp(log_weight += step.log_ratio));
  return weights;
}

// The mean over episodes of the weight at each step.
std::vector<double> mean_weights(const std::vector<std::vector<double>>& weights) {
  size_t longest = 0;
  for (const auto& each : weights) longest = std::max(longest, each.size());
  std::vector<double> means(longest, 0.0);
  for (size_t t = 0; t < longest; ++t) {
    for (const auto& each : weights) means[t] += each[std::min(t, each.size() - 1)];
    means[t] /= static_cast<double>(weights.size());
  }
  return means;
}

}  // namespace

ImportanceEstimates importance_estimates(const std::vector<WeightedEpisode>& episodes,
                                         double gamma) {
  std::vector<std::vector<double>> weights;
  for (const auto& episode : episodes) weights.push_back(weights_of(episode));
  const auto means = mean_weights(weights);
  ImportanceEstimates sum;
  double weight_sum = 0, square_sum = 0;
  for (size_t i = 0; i < episodes.size(); ++i) {
    double discount = 1, plain_return = 0, before = 1;
    for (size_t t = 0; t < episodes[i].size(); ++t) {
      const auto& step = episodes[i][t];
      const double weight = weights[i][t];
      plain_return += discount * step.reward;
      sum.per_decision += discount * weight * step.reward;
      if (means[t] > 0) sum.weighted_per_decision += discount * weight / means[t] * step.reward;
      sum.doubly_robust += discount * (weight * (step.reward - step.q) + before * step.v);
      before = weight;
      discount *= gamma;
    }
    sum.trajectory += before * plain_return;
    weight_sum += before;
    square_sum += before * before;
  }
  const auto count = static_cast<double>(episodes.size());
  return {sum.trajectory / count,    weight_sum > 0 ? sum.trajectory / weight_sum : 0.0,
          sum.per_decision / count,  sum.weighted_per_decision / count,
          sum.doubly_robust / count, square_sum > 0 ? weight_sum * weight_sum / square_sum : 0.0};
}

}  // namespace rl_training
