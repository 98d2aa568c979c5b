#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace rl_training {

// The box of an environment's actions. Inside the library actions are scaled to [-1, 1] in each
// dimension; only here do they change units. Centre and half width are used so that symmetric
// bounds scale without rounding.
struct ActionBounds {
  std::vector<double> low, high;

  int64_t dims() const { return static_cast<int64_t>(low.size()); }

  float to_unit(int64_t dim, double value) const {
    const double half = half_width(dim);
    return half > 0 ? static_cast<float>((value - center(dim)) / half) : 0.0f;
  }

  double from_unit(int64_t dim, double value) const {
    const double scaled = center(dim) + half_width(dim) * value;
    // Rounding must not carry the ends of [-1, 1] past the bounds.
    return value >= -1 && value <= 1 ? std::clamp(scaled, low[dim], high[dim]) : scaled;
  }

 private:
  double center(int64_t dim) const { return (low[dim] + high[dim]) / 2; }
  double half_width(int64_t dim) const { return (high[dim] - low[dim]) / 2; }
};

}  // namespace rl_training
