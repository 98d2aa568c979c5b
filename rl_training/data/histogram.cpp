#include "rl_training/data/histogram.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace rl_training {

Histogram::Histogram(double low, double high, int parts)
    : low_(low), high_(high), counts_(static_cast<size_t>(high > low ? parts : 1), 0) {}

void Histogram::add(double value) {
  if (counts_.empty() || !std::isfinite(value)) return;
  const auto parts = static_cast<double>(counts_.size());
  const double place = high_ > low_ ? (value - low_) / (high_ - low_) * parts : 0;
  ++counts_[static_cast<size_t>(std::clamp(place, 0.0, parts - 1))];
}

std::string Histogram::bars() const {
  static constexpr std::array kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  int64_t most = 1;
  for (const int64_t count : counts_) most = std::max(most, count);
  std::string text;
  for (const int64_t count : counts_) {
    // Rounds up, so that a bin with a single value is visible.
    const auto height = count == 0 ? 0 : (count * 8 + most - 1) / most;
    text += height == 0 ? " " : kBlocks[static_cast<size_t>(height - 1)];
  }
  return text;
}

}  // namespace rl_training
