#pragma once
#include <span>
#include <vector>

namespace rl_training {

// Ranks from 1, largest value first. Equal values share the mean of their ranks, and values that
// are not finite come last.
std::vector<double> ranks_of(std::span<const double> values);

// Rank correlation in [-1, 1]; 0 if `a` or `b` is constant.
double spearman_correlation(std::span<const double> a, std::span<const double> b);

// Loss from choosing the best of the k policies with the largest estimates: the largest true value
// of all policies minus the largest true value of these k policies.
double regret_at_k(std::span<const double> truth, std::span<const double> estimate, size_t k);

// Result of bootstrap_starts: the 95 % percentile interval of the mean value at the start of an
// episode. Each resample draws one critic, and draws episodes with replacement. The interval
// therefore reflects the uncertainty of both critics and episodes. `values` is [critics][episodes].
struct ValueInterval {
  double low = 0, high = 0;
};
ValueInterval bootstrap_starts(const std::vector<std::vector<double>>& values);

}  // namespace rl_training
