#include "rl_training/data/running_statistics.h"

#include <array>
#include <cmath>

namespace rl_training {

RunningStatistics::RunningStatistics(int64_t width)
    : mean_(static_cast<size_t>(width), 0.0), variance_(mean_.size(), 1.0) {
  update_deviation();
}

RunningStatistics::RunningStatistics(std::span<const float> mean, std::span<const float> deviation,
                                     double count)
    : count_(count), mean_(mean.begin(), mean.end()) {
  for (const float value : deviation) variance_.push_back(static_cast<double>(value) * value);
  update_deviation();
}

// Uses the update of Chan, Golub and LeVeque: computes the mean and squared deviations of the new
// rows and merges them with the old values, weighted by the numbers of rows.
void RunningStatistics::add(std::span<const float> rows) {
  const size_t width = mean_.size();
  const size_t count = rows.size() / width;
  const auto added = static_cast<double>(count);
  const double total = count_ + added;
  for (size_t j = 0; j < width; ++j) {
    double mean = 0, squares = 0;
    for (size_t at = j; at < rows.size(); at += width) mean += rows[at];
    mean /= added;
    for (size_t at = j; at < rows.size(); at += width) {
      squares += (rows[at] - mean) * (rows[at] - mean);
    }
    const double difference = mean - mean_[j];
    squares += variance_[j] * count_ + difference * difference * count_ * added / total;
    mean_[j] += difference * added / total;
    variance_[j] = squares / total;
  }
  count_ = total;
  update_deviation();
}

void RunningStatistics::update_deviation() {
  deviation_.resize(variance_.size());
  for (size_t j = 0; j < variance_.size(); ++j) deviation_[j] = std::sqrt(variance_[j] + 1e-8);
}

void RunningStatistics::visit_state(StateVisitor& state) {
  const std::array<int64_t, 1> shape = {static_cast<int64_t>(mean_.size())};
  state.scalar("count", count_);
  state.array("mean", DType::f64, shape, mean_.data());
  state.array("variance", DType::f64, shape, variance_.data());
  update_deviation();
}

}  // namespace rl_training
