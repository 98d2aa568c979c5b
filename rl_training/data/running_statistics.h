#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "rl_training/util/state.h"

namespace rl_training {

// Computes the mean and the variance of each entry over all rows so far, in constant memory.
class RunningStatistics {
 public:
  explicit RunningStatistics(int64_t width);
  // Starts with known statistics, which count as much as `count` rows.
  RunningStatistics(std::span<const float> mean, std::span<const float> deviation, double count);

  // Adds rows of shape [count, width].
  void add(std::span<const float> rows);
  std::span<const double> mean() const { return mean_; }
  // sqrt(variance + 1e-8) of each entry, valid until the next call to `add`.
  std::span<const double> deviation() const { return deviation_; }

  void visit_state(StateVisitor& state);

 private:
  void update_deviation();

  double count_ = 1e-4;  // number of rows; starts at 1e-4, as in Gymnasium's RunningMeanStd
  std::vector<double> mean_, variance_, deviation_;
};

}  // namespace rl_training
