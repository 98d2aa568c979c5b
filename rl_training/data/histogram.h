#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace rl_training {

// Counts values in equal parts of [low, high].
class Histogram {
 public:
  Histogram() = default;
  // If `low` = `high` there is one part.
  Histogram(double low, double high, int parts = 24);

  // Values that are not finite are ignored.
  void add(double value);

  double low() const { return low_; }
  double high() const { return high_; }
  const std::vector<int64_t>& counts() const { return counts_; }
  // One character per part, with a height relative to the most frequent part; a blank means 0.
  std::string bars() const;

 private:
  double low_ = 0, high_ = 0;
  std::vector<int64_t> counts_;
};

}  // namespace rl_training
