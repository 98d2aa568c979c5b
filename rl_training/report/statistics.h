#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace rl_training {

// Statistics over runs, as defined by Agarwal et al., "Deep Reinforcement Learning at the Edge of
// the Statistical Precipice" (arXiv:2108.13264). Samples must not be empty.
double mean_of(std::span<const double> values);
double median_of(std::span<const double> values);
// The mean after discarding a quarter of the values (rounded down) at each end.
double interquartile_mean(std::span<const double> values);
// Interpolates linearly between order statistics, like NumPy's percentile. `sorted` is in ascending
// order, and 0 <= q <= 1.
double quantile(std::span<const double> sorted, double q);

// Scores of one method, one list per task. The lists are the strata of the bootstrap.
using Strata = std::vector<std::vector<double>>;
// All scores in one list.
std::vector<double> pooled(const Strata& strata);

struct ConfidenceInterval {
  double low = 0, high = 0;
};

inline constexpr int kTableResamples = 5000;
inline constexpr int kCurveResamples = 500;

// The 95 % percentile bootstrap interval of `statistic`, which is applied to the pooled scores.
// Runs are drawn with replacement within each task. The draws come from a fixed random stream, so
// the same scores always yield the same interval. Returns nullopt if no task has two runs.
using PooledStatistic = double (*)(std::span<const double>);
std::optional<ConfidenceInterval> bootstrap_interval(const Strata& strata,
                                                     PooledStatistic statistic,
                                                     int resamples = kTableResamples);

// The Mann-Whitney statistic: P(X > Y) for one run of each method, where ties count half, averaged
// over tasks. Both arguments must have the same tasks in the same order.
double probability_of_improvement(const Strata& x, const Strata& y);
// The 95 % bootstrap interval of that probability; nullopt unless each method has a task with two
// runs.
std::optional<ConfidenceInterval> improvement_interval(const Strata& x, const Strata& y,
                                                       int resamples = kTableResamples);

// The share of scores above each threshold.
std::vector<double> performance_profile(std::span<const double> scores,
                                        std::span<const double> thresholds);

}  // namespace rl_training
