#include "rl_training/selection/ranking.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rl_training/util/rng.h"

namespace rl_training {
namespace {

constexpr int kResamples = 1000;

// Interpolates linearly between order statistics.
double percentile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double sortable(double value) { return std::isfinite(value) ? value : -HUGE_VAL; }

}  // namespace

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<double> ranks;
  for (const double value : values) {
    double larger = 0, equal = 0;
    for (const double other : values) {
      larger += sortable(other) > sortable(value) ? 1 : 0;
      equal += sortable(other) == sortable(value) ? 1 : 0;
    }
    ranks.push_back(larger + (equal + 1) / 2);
  }
  return ranks;
}

double spearman_correlation(std::span<const double> a, std::span<const double> b) {
  const auto x = ranks_of(a), y = ranks_of(b);
  const double mean = (static_cast<double>(x.size()) + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0.0;
}

double regret_at_k(std::span<const double> truth, std::span<const double> estimate, size_t k) {
  std::vector<size_t> order(estimate.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) {
    return sortable(estimate[i]) > sortable(estimate[j]);
  });
  double best = -HUGE_VAL;
  for (size_t i = 0; i < std::min(k, order.size()); ++i) best = std::max(best, truth[order[i]]);
  return *std::max_element(truth.begin(), truth.end()) - best;
}

ValueInterval bootstrap_starts(const std::vector<std::vector<double>>& values) {
  const size_t episodes = values.front().size();
  Rng rng(0, "selection/bootstrap");
  std::vector<double> means;
  for (int i = 0; i < kResamples; ++i) {
    const auto& critic = values[rng.below(values.size())];
    double sum = 0;
    for (size_t draw = 0; draw < episodes; ++draw) sum += critic[rng.below(episodes)];
    means.push_back(sum / static_cast<double>(episodes));
  }
  std::sort(means.begin(), means.end());
  return {percentile(means, 0.025), percentile(means, 0.975)};
}

}  // namespace rl_training
