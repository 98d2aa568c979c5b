#pragma once
#include <string>
#include <vector>

namespace rl_training {

struct ChartPoint {
  double x = 0, y = 0;
  double low = 0, high = 0;  // ends of the band or error bar; invisible if both equal y
};

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points = {};  // in ascending order of x
  bool joined = true;                   // true: a line with a band; false: dots with error bars
};

// A chart of lines with bands, or of dots with error bars, on a white background.
struct Chart {
  std::string title, x_label, y_label;
  std::vector<ChartSeries> series;
};

// Returns the reason why this build cannot draw charts, or "" if it can.
std::string chart_unavailable();

// Both functions return the bytes of a picture with all charts, one below the other.
std::string encode_charts_svg(const std::vector<Chart>& charts);
std::string encode_charts_png(const std::vector<Chart>& charts);
inline std::string encode_chart_svg(const Chart& chart) { return encode_charts_svg({chart}); }

// Returns round numbers that divide [low, high] into about `count` parts. `low` must be below
// `high`.
std::vector<double> chart_ticks(double low, double high, int count);

}  // namespace rl_training
