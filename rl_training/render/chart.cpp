#include "rl_training/render/chart.h"

#include <cmath>

#include "rl_training/render/film.h"

namespace rl_training {

std::string chart_unavailable() { return film_unavailable(); }

std::vector<double> chart_ticks(double low, double high, int count) {
  const double raw = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double part = raw / power;
  const double step = power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) {
    ticks.push_back(i * step + 0.0);  // the addition turns -0.0 into 0.0
  }
  return ticks;
}

#ifndef RL_TRAINING_RENDER
std::string encode_charts_svg(const std::vector<Chart>&) { return {}; }
std::string encode_charts_png(const std::vector<Chart>&) { return {}; }
#endif

}  // namespace rl_training
