#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace rl_training {

// Counts values in bins of equal width between `low` and `high`.
class Histogram {
 public:
  Histogram() = default;
  // `parts` is the number of bins. If `low` equals `high`, there is only one bin.
  Histogram(double low, double high, int parts = 24);

  // Values that are not finite are ignored.
  void add(double value);

  double low() const { return low_; }
  double high() const { return high_; }
  const std::vector<int64_t>& counts() const { return counts_; }
  // A bar chart with one character per bin. Heights are relative to the fullest bin; a blank means
  // an empty bin.
  std::string bars() const;

 private:
  double low_ = 0, high_ = 0;
  std::vector<int64_t> counts_;
};

}  // namespace rl_training
