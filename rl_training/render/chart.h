#pragma once
#include <string>
#include <vector>

namespace rl_training {

struct ChartPoint {
  double x = 0, y = 0;
  double low = 0, high = 0;  // the band; no band if both equal y
};

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points = {};  // x ascends
  bool joined = true;                   // false: dots with bars instead of a line with a band
};

// Lines with bands, on a white background.
struct Chart {
  std::string title, x_label, y_label;
  std::vector<ChartSeries> series;
};

// Why this build cannot draw charts; empty: it can.
std::string chart_unavailable();

// The bytes of a picture with the charts below each other.
std::string encode_charts_svg(const std::vector<Chart>& charts);
std::string encode_charts_png(const std::vector<Chart>& charts);
inline std::string encode_chart_svg(const Chart& chart) { return encode_charts_svg({chart}); }

// Round numbers that divide [low, high] into about `count` parts; `low` < `high`.
std::vector<double> chart_ticks(double low, double high, int count);

}  // namespace rl_training
