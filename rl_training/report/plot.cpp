#include "rl_training/report/plot.h"

#include "rl_training/report/chart_data.h"
#include "rl_training/report/task_metrics.h"
#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

template <class Curve>
Chart task_chart(const ReportTask& task, bool online, const std::string& y, const Curve& curve) {
  Chart chart;
  chart.title = printable(task.name());
  chart.x_label = clock_name(online);
  chart.y_label = printable(y);
  for (const auto& group : task.groups) {
    ChartSeries series;
    series.name = printable(group.label());
    for (const BandPoint& point : curve(group)) {
      series.points.push_back({static_cast<double>(point.step), point.iqm, point.low, point.high});
    }
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

void check_metrics(const Report& report, const std::vector<std::string>& metrics) {
  std::set<std::string> known;
  for (const auto& task : report.tasks) known.merge(metric_names_of(task));
  for (const auto& metric : metrics) {
    if (known.contains(metric)) continue;
    throw Error(ErrorKind::config, {"", 0, "--metric"},
                "no run has `" + printable(metric) + "` (expected one of " +
                    printable(join({known.begin(), known.end()}, ", ")) + ")");
  }
}

}  // namespace

Chart learning_curve_chart(const ReportTask& task, bool online) {
  return task_chart(task, online, "return",
                    [&](const RunGroup& group) { return learning_curve(group, online); });
}

Chart metric_chart(const ReportTask& task, const std::string& metric, bool online) {
  return task_chart(task, online, metric,
                    [&](const RunGroup& group) { return metric_curve(group, metric, online); });
}

std::vector<Chart> report_charts(const Report& report, const std::vector<std::string>& metrics) {
  check_metrics(report, metrics);
  std::vector<Chart> charts;
  const auto add = [&](Chart chart) {
    if (!chart.series.empty()) charts.push_back(std::move(chart));
  };
  for (const auto& task : report.tasks) {
    for (const bool online : clocks_of(task)) {
      if (metrics.empty()) add(learning_curve_chart(task, online));
      for (const auto& name : metrics.empty() ? validation_names_of(task) : metrics) {
        add(metric_chart(task, name, online));
      }
    }
  }
  return charts;
}

void write_plot(const Report& report, const std::string& path,
                const std::vector<std::string>& metrics) {
  const bool svg = path.ends_with(".svg");
  if (!svg && !path.ends_with(".png")) {
    throw Error(ErrorKind::config, {path, 0, "--plot"},
                "unknown kind of picture (expected a name that ends in .svg or .png)");
  }
  if (const auto why = chart_unavailable(); !why.empty()) throw Error(ErrorKind::config, why);
  const auto charts = report_charts(report, metrics);
  if (charts.empty()) {
    throw Error(ErrorKind::config, {"", 0, "--plot"},
                "no run has an evaluation or a validation to draw (--metric NAME draws others)");
  }
  write_file_atomically(posix_file_system(), path,
                        svg ? encode_charts_svg(charts) : encode_charts_png(charts));
}

}  // namespace rl_training
