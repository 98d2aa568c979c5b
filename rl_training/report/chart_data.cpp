#include "rl_training/report/chart_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rl_training/report/profile.h"
#include "rl_training/report/task_metrics.h"
#include "rl_training/util/json.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

// Limits for the number of points: in a whole chart, and the minimum and maximum for one curve.
constexpr size_t kChartPoints = 8000, kLeastPoints = 50, kMostPoints = 300;
constexpr size_t kMetricPoints = 60000, kLeastMetricPoints = 20, kMostMetricPoints = 120;

size_t share_of(size_t total, size_t count, size_t least, size_t most) {
  return std::clamp(total / std::max<size_t>(1, count), least, most);
}

std::string json_text(const std::string& text) {
  auto quoted = Json(printable(text)).dump();
  std::string out;
  for (const char c : quoted) out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return out;
}

// Six significant digits suffice for a screen and take less than half the space of all digits.
std::string short_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "null";
}

template <class Range, class Text>
std::string json_list(const Range& range, const Text& text) {
  std::string out = "[";
  for (const auto& item : range) {
    if (out.size() > 1) out += ",";
    out += text(item);
  }
  return out + "]";
}

std::string series_json(size_t group, const std::vector<BandPoint>& curve, bool with_runs) {
  const bool band = std::any_of(curve.begin(), curve.end(),
                                [](const BandPoint& point) { return point.high > point.low; });
  const auto numbers = [&](double BandPoint::*field) {
    return json_list(curve, [&](const BandPoint& point) { return short_number(point.*field); });
  };
  std::string text = fmt::format("{{\"group\":{},\"x\":", group);
  text += json_list(curve, [](const BandPoint& point) { return std::to_string(point.step); });
  text += ",\"y\":" + numbers(&BandPoint::iqm);
  if (band)
    text += ",\"low\":" + numbers(&BandPoint::low) + ",\"high\":" + numbers(&BandPoint::high);
  if (with_runs) {
    text += ",\"n\":" +
            json_list(curve, [](const BandPoint& point) { return std::to_string(point.runs); });
  }
  return text + "}";
}

// Values of one run at the steps of its group's curve.
std::string run_series_json(size_t group, const RunRecord& run, bool online,
                            const std::vector<BandPoint>& curve) {
  std::map<int64_t, double> values;
  for (const auto& point : run.evaluations) {
    if (point.online == online) values[point.step] = point.value;
  }
  const auto value_at = [&](const BandPoint& point) {
    const auto found = values.find(point.step);
    return found == values.end() ? std::string("null") : short_number(found->second);
  };
  return fmt::format("{{\"group\":{},\"seed\":{},\"y\":{}}}", group, run.seed,
                     json_list(curve, value_at));
}

std::string clock_json(const ReportTask& task, bool online) {
  const size_t most = share_of(kChartPoints, task.groups.size(), kLeastPoints, kMostPoints);
  std::vector<std::string> series, runs;
  for (size_t i = 0; i < task.groups.size(); ++i) {
    const auto curve = learning_curve(task.groups[i], online, most);
    if (curve.empty()) continue;
    series.push_back(series_json(i, curve, /*with_runs=*/true));
    for (const auto& run : task.groups[i].runs) {
      runs.push_back(run_series_json(i, run, online, curve));
    }
  }
  return fmt::format("{{\"clock\":\"{}\",\"series\":[{}],\"runs\":[{}]}}", clock_name(online),
                     join(series, ","), join(runs, ","));
}

std::vector<BandPoint> every_nth(const std::vector<BandPoint>& curve, size_t most) {
  if (curve.size() <= most) return curve;
  std::vector<BandPoint> kept;
  for (size_t i = 0; i < most; ++i) kept.push_back(curve[i * (curve.size() - 1) / (most - 1)]);
  return kept;
}

std::string metrics_json(const ReportTask& task, bool online) {
  const auto names = metric_names_of(task);
  const size_t most = share_of(kMetricPoints, names.size() * task.groups.size(), kLeastMetricPoints,
                               kMostMetricPoints);
  std::vector<std::string> values;
  for (const auto& name : names) {
    std::vector<std::string> series;
    for (size_t i = 0; i < task.groups.size(); ++i) {
      const auto curve = every_nth(metric_curve(task.groups[i], name, online), most);
      if (!curve.empty()) series.push_back(series_json(i, curve, /*with_runs=*/false));
    }
    if (!series.empty()) values.push_back(json_text(name) + ":[" + join(series, ",") + "]");
  }
  return fmt::format("{{\"clock\":\"{}\",\"values\":{{{}}}}}", clock_name(online),
                     join(values, ","));
}

std::string profile_json(const ReportTask& task) {
  if (!has_profiles(task)) return "null";
  const auto profiles = task_profiles(task);
  return fmt::format("{{\"x\":{},\"shares\":{}}}", json_list(profiles.thresholds, short_number),
                     json_list(profiles.shares, [](const std::vector<double>& shares) {
                       return json_list(shares, short_number);
                     }));
}

std::string task_data(const ReportTask& task) {
  std::vector<std::string> curves, metrics;
  for (const bool online : clocks_of(task)) {
    curves.push_back(clock_json(task, online));
    metrics.push_back(metrics_json(task, online));
  }
  const auto labels =
      json_list(task.groups, [](const RunGroup& group) { return json_text(group.label()); });
  return fmt::format("{{\"groups\":{},\"curves\":[{}],\"profile\":{},\"metrics\":[{}]}}", labels,
                     join(curves, ","), profile_json(task), join(metrics, ","));
}

}  // namespace

const char* clock_name(bool online) { return online ? "environment steps" : "updates"; }

std::vector<bool> clocks_of(const ReportTask& task) {
  bool offline = false, online = false;
  for (const auto& group : task.groups) {
    for (const auto& run : group.runs) {
      for (const auto& point : run.evaluations) (point.online ? online : offline) = true;
      for (const auto& [name, points] : run.metrics) {
        for (const auto& point : points) (point.online ? online : offline) = true;
      }
    }
  }
  std::vector<bool> clocks;
  if (offline) clocks.push_back(false);
  if (online) clocks.push_back(true);
  return clocks;
}

std::string chart_data_json(const Report& report) {
  std::vector<std::string> tasks;
  for (const auto& task : report.tasks) tasks.push_back(task_data(task));
  return "{\"tasks\":[" + join(tasks, ",") + "]}";
}

}  // namespace rl_training
