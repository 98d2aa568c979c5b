#include "rl_training/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rl_training/util/rng.h"

namespace rl_training {
namespace {

constexpr double kLowTail = 0.025, kHighTail = 0.975;
constexpr std::string_view kBootstrapStream = "report/bootstrap";

bool can_resample(const Strata& strata) {
  return std::any_of(strata.begin(), strata.end(),
                     [](const std::vector<double>& task) { return task.size() > 1; });
}

void resample(const Strata& strata, Rng& rng, Strata& out) {
  for (size_t task = 0; task < strata.size(); ++task) {
    const auto& from = strata[task];
    for (auto& value : out[task]) value = from[rng.below(from.size())];
  }
}

ConfidenceInterval percentiles(std::vector<double>& estimates) {
  std::sort(estimates.begin(), estimates.end());
  return {quantile(estimates, kLowTail), quantile(estimates, kHighTail)};
}

double share_of_wins(const std::vector<double>& x, const std::vector<double>& y) {
  double wins = 0;
  for (const double a : x) {
    for (const double b : y) wins += a > b ? 1.0 : a == b ? 0.5 : 0.0;
  }
  return wins / static_cast<double>(x.size() * y.size());
}

}  // namespace

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(std::span<const double> sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median_of(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return quantile(sorted, 0.5);
}

double interquartile_mean(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t cut = sorted.size() / 4;
  return mean_of(std::span(sorted).subspan(cut, sorted.size() - 2 * cut));
}

std::vector<double> pooled(const Strata& strata) {
  std::vector<double> all;
  for (const auto& task : strata) all.insert(all.end(), task.begin(), task.end());
  return all;
}

std::optional<ConfidenceInterval> bootstrap_interval(const Strata& strata,
                                                     PooledStatistic statistic, int resamples) {
  if (!can_resample(strata)) return std::nullopt;
  Rng rng(0, kBootstrapStream);
  auto drawn = strata;
  std::vector<double> estimates(static_cast<size_t>(resamples));
  for (auto& estimate : estimates) {
    resample(strata, rng, drawn);
    estimate = statistic(pooled(drawn));
  }
  return percentiles(estimates);
}

double probability_of_improvement(const Strata& x, const Strata& y) {
  double sum = 0;
  for (size_t task = 0; task < x.size(); ++task) sum += share_of_wins(x[task], y[task]);
  return sum / static_cast<double>(x.size());
}

std::optional<ConfidenceInterval> improvement_interval(const Strata& x, const Strata& y,
                                                       int resamples) {
  if (!can_resample(x) || !can_resample(y)) return std::nullopt;
  Rng rng(0, kBootstrapStream);
  auto drawn_x = x, drawn_y = y;
  std::vector<double> estimates(static_cast<size_t>(resamples));
  for (auto& estimate : estimates) {
    resample(x, rng, drawn_x);
    resample(y, rng, drawn_y);
    estimate = probability_of_improvement(drawn_x, drawn_y);
  }
  return percentiles(estimates);
}

std::vector<double> performance_profile(std::span<const double> scores,
                                        std::span<const double> thresholds) {
  std::vector<double> shares;
  for (const double threshold : thresholds) {
    const auto above = std::count_if(scores.begin(), scores.end(),
                                     [&](double score) { return score > threshold; });
    shares.push_back(static_cast<double>(above) / static_cast<double>(scores.size()));
  }
  return shares;
}

}  // namespace rl_training
