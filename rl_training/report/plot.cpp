#include "rl_training/report/plot.h"

#include "rl_training/report/chart_data.h"
#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/text.h"

namespace rl_training {

Chart learning_curve_chart(const ReportTask& task, bool online) {
  Chart chart;
  chart.title = printable(task.name());
  chart.x_label = clock_name(online);
  chart.y_label = "return";
  for (const auto& group : task.groups) {
    ChartSeries series;
    series.name = printable(group.label());
    for (const auto& point : learning_curve(group, online)) {
      series.points.push_back({static_cast<double>(point.step), point.iqm, point.low, point.high});
    }
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

void write_plot(const Report& report, const std::string& path) {
  const bool svg = path.ends_with(".svg");
  if (!svg && !path.ends_with(".png")) {
    throw Error(ErrorKind::config, {path, 0, "--plot"},
                "unknown kind of picture (expected a name that ends in .svg or .png)");
  }
  if (const auto why = chart_unavailable(); !why.empty()) throw Error(ErrorKind::config, why);
  std::vector<Chart> charts;
  for (const auto& task : report.tasks) {
    for (const bool online : clocks_of(task)) {
      auto chart = learning_curve_chart(task, online);
      if (!chart.series.empty()) charts.push_back(std::move(chart));
    }
  }
  if (charts.empty()) {
    throw Error(ErrorKind::config, {"", 0, "--plot"}, "no run has an evaluation to draw");
  }
  write_file_atomically(posix_file_system(), path,
                        svg ? encode_charts_svg(charts) : encode_charts_png(charts));
}

}  // namespace rl_training
