#include "rl_training/report/run_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "rl_training/util/error.h"
#include "rl_training/util/json.h"

namespace rl_training {
namespace {

constexpr uint64_t kMostMetricBytes = uint64_t{256} << 20;
constexpr size_t kMostRowBytes = 1 << 16;
constexpr size_t kMostMetrics = 200;
// Largest number of bins for one metric of one run on one time axis. A bin is a range of steps, and
// one point of each bin is retained. Because bins depend only on steps, all seeds retain points at
// the same steps.
constexpr int64_t kMetricBins = 250;

// Names of counters and settings in a row, which are not results of training.
const std::set<std::string>& clock_names() {
  static const std::set<std::string> names = {"global_step", "update_count", "epoch",
                                              "dataset_size"};
  return names;
}

std::optional<double> finite_at(const Json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) && std::abs(value) < 1e300 ? std::optional(value) : std::nullopt;
}

// Reads a counter, or 0 if it is missing or not finite. Clamps it to the range from 0 to 9e15, in
// which a double represents every integer exactly.
int64_t count_at(const Json& row, const char* key) {
  return static_cast<int64_t>(std::clamp(finite_at(row, key).value_or(0), 0.0, 9e15));
}

template <class Use>
void for_each_row(const std::string& text, const Use& use) {
  for (size_t begin = 0; begin < text.size();) {
    const auto end = text.find('\n', begin);
    if (end == std::string::npos) return;  // the last row is still being written
    if (end - begin <= kMostRowBytes) {
      const auto row = parse_untrusted_json(std::string_view(text).substr(begin, end - begin));
      if (row.is_object()) use(row);
    }
    begin = end + 1;
  }
}

void add_values(const Json& row, const CurvePoint& at, RunRecord& run) {
  for (const auto& [name, value] : row.items()) {
    if (!value.is_number() || clock_names().contains(name)) continue;
    const double number = value.template get<double>();
    if (!std::isfinite(number) ||
        (!run.metrics.contains(name) && run.metrics.size() > kMostMetrics))
      continue;
    run.metrics[name].push_back({at.online, at.step, number});
  }
}

// Retains the last point of each bin.
std::vector<CurvePoint> thin(const std::vector<CurvePoint>& points) {
  int64_t longest = 1;
  for (const auto& point : points) longest = std::max(longest, point.step);
  // Bin widths are powers of two. Up to the end of this run, the steps that a longer run of the
  // same group retains are then a subset of the steps that this run retains.
  int64_t width = 1;
  while (longest / width > kMetricBins) width *= 2;
  std::vector<CurvePoint> kept;
  for (const auto& point : points) {
    const bool same = !kept.empty() && kept.back().online == point.online &&
                      (kept.back().step - 1) / width == (point.step - 1) / width;
    if (same && kept.back().step > 0) {
      kept.back() = point;
    } else {
      kept.push_back(point);
    }
  }
  return kept;
}

// Rows with a `buffer_size` belong to an online phase. The row of the evaluation before training
// has no `buffer_size`, so the reader assigns it to the offline time axis. If the run has only an
// online phase, this function moves that row to the online time axis.
void settle_first_clock(RunRecord& run) {
  const auto is_offline = [](const CurvePoint& point) { return !point.online && point.step > 0; };
  const auto fix = [](std::vector<CurvePoint>& points) {
    for (auto& point : points) point.online = true;
  };
  if (!run.has_online) return;
  for (const auto& [name, points] : run.metrics) {
    if (std::any_of(points.begin(), points.end(), is_offline)) return;
  }
  fix(run.evaluations);
  for (auto& [name, points] : run.metrics) fix(points);
}

}  // namespace

std::string read_plain_file(FileSystem& files, const std::string& path, uint64_t most) {
  std::error_code failed;
  const auto status = std::filesystem::symlink_status(path, failed);
  if (failed || !std::filesystem::is_regular_file(status)) {
    throw Error(ErrorKind::io, {path, 0, ""}, "not a plain file");
  }
  if (const auto size = files.file_size(path); size > most) {
    throw Error(ErrorKind::io, {path, 0, ""},
                fmt::format("too large (expected at most {} bytes, got {})", most, size));
  }
  return files.read_file(path);
}

void read_metrics(FileSystem& files, RunRecord& run) {
  const auto path = run.path + "/metrics.jsonl";
  if (!files.exists(path)) return;
  for_each_row(read_plain_file(files, path, kMostMetricBytes), [&run](const Json& row) {
    const int64_t updates = count_at(row, "update_count"), steps = count_at(row, "global_step");
    const bool online = row.contains("buffer_size") && (steps > 0 || updates == 0);
    run.has_online = run.has_online || row.contains("buffer_size");
    run.updates = updates;
    if (online) run.env_steps = steps;
    const CurvePoint at{online, online ? steps : updates, 0};
    if (const auto value = finite_at(row, "eval_return_mean")) {
      run.evaluations.push_back({at.online, at.step, *value});
    }
    add_values(row, at, run);
  });
  for (const auto& [name, points] : run.metrics) {
    run.last_metrics.emplace_back(name, points.back().value);
  }
  settle_first_clock(run);
  for (auto& [name, points] : run.metrics) points = thin(points);
  run.metrics.erase("eval_return_mean");
}

void read_timing(FileSystem& files, RunRecord& run) {
  const auto path = run.path + "/timing.jsonl";
  if (!files.exists(path)) return;
  double before = 0;
  for_each_row(read_plain_file(files, path, kMostMetricBytes), [&](const Json& row) {
    // The time is computed from rates, because wall-clock differences include the days between
    // sessions.
    const double updates = static_cast<double>(count_at(row, "update_count"));
    const double rate = finite_at(row, "updates_per_second").value_or(0);
    if (rate > 0 && updates > before) run.seconds += (updates - before) / rate;
    before = updates;
  });
}

}  // namespace rl_training
