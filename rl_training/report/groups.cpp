#include "rl_training/report/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "rl_training/envs/reference_scores.h"
#include "rl_training/report/group_key.h"
#include "rl_training/util/error.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

const CurvePoint* chosen_evaluation(const RunRecord& run, const EvaluationChoice& choice) {
  using Pick = EvaluationChoice::Pick;
  if (run.evaluations.empty()) return nullptr;
  const bool online = run.evaluations.back().online;
  const int64_t reached = online ? run.env_steps : run.updates;
  if (choice.pick == Pick::at && reached < choice.step) return nullptr;
  const CurvePoint* chosen = nullptr;
  for (const auto& point : run.evaluations) {
    if (choice.pick == Pick::at && (point.online != online || point.step > choice.step)) continue;
    const bool better =
        choice.pick != Pick::best || chosen == nullptr || point.value > chosen->value;
    if (better) chosen = &point;
  }
  return chosen;
}

// Throws if no run has reached the requested step or can still reach it. Otherwise the table would
// be empty without an explanation.
void check_step_is_reached(const std::vector<RunRecord>& runs, const EvaluationChoice& choice) {
  if (choice.pick != EvaluationChoice::Pick::at) return;
  std::optional<int64_t> longest;
  for (const auto& run : runs) {
    if (run.state == RunState::running || chosen_evaluation(run, choice) != nullptr) return;
    if (run.evaluations.empty()) continue;
    const bool online = run.evaluations.back().online;
    longest = std::max(longest.value_or(0), online ? run.env_steps : run.updates);
  }
  if (!longest) return;
  throw Error(ErrorKind::config, {"", 0, "--at"},
              fmt::format("no run reached this step (expected at most {}, where the longest ended, "
                          "got {})",
                          *longest, choice.step));
}

// Whether `a` is preferred to `b` if both have the same seed. Finished runs come first, then newer
// runs.
bool counts_before(const RunRecord& a, const RunRecord& b) {
  const bool a_done = a.state == RunState::finished, b_done = b.state == RunState::finished;
  if (a_done != b_done) return a_done;
  return std::tie(a.started, a.path) > std::tie(b.started, b.path);
}

// Keeps one of several runs with the same config and seed, so that each seed counts once.
std::vector<RunRecord> once_each(std::vector<RunRecord> runs, const ReportOptions& options,
                                 std::vector<std::string>& notes) {
  std::stable_sort(runs.begin(), runs.end(), counts_before);
  std::map<std::pair<std::string, int64_t>, std::string> kept;  // config and seed -> path
  std::vector<RunRecord> result;
  for (auto& run : runs) {
    const auto key = std::pair(full_key(run, options), run.seed);
    const auto [place, is_new] = kept.emplace(key, run.path);
    if (is_new) {
      result.push_back(std::move(run));
    } else {
      notes.push_back(
          fmt::format("warning: each seed counts once; for seed {}, {} is ignored in favour of {}",
                      run.seed, printable(run.path), printable(place->second)));
    }
  }
  return result;
}

void fill_figures(RunGroup& group, const EvaluationChoice& choice) {
  std::stable_sort(group.runs.begin(), group.runs.end(),
                   [](const RunRecord& a, const RunRecord& b) { return a.seed < b.seed; });
  for (const auto& run : group.runs) {
    const auto* point = chosen_evaluation(run, choice);
    group.values.push_back(point == nullptr ? std::nullopt : std::optional(point->value));
    group.value_steps.push_back(point == nullptr ? -1 : point->step);
  }
  const auto values = group.known_values();
  if (values.empty()) return;
  group.figures = GroupFigures{mean_of(values), interquartile_mean(values), median_of(values),
                               bootstrap_interval({values}, interquartile_mean)};
}

void rank(ReportTask& task) {
  std::stable_sort(task.groups.begin(), task.groups.end(),
                   [](const RunGroup& a, const RunGroup& b) {
                     if (!a.figures || !b.figures) return a.figures.has_value() && !b.figures;
                     return a.figures->iqm > b.figures->iqm;
                   });
  if (!task.groups.front().figures) return;
  const Strata best = {task.groups.front().known_values()};
  for (size_t i = 1; i < task.groups.size(); ++i) {
    auto& group = task.groups[i];
    const Strata values = {group.known_values()};
    if (!group.figures) continue;
    group.best_wins = probability_of_improvement(best, values);
    group.best_wins_interval = improvement_interval(best, values);
  }
}

BandPoint band_at(int64_t step, const std::vector<double>& values) {
  BandPoint point;
  point.step = step;
  point.runs = values.size();
  point.iqm = interquartile_mean(values);
  const auto interval = bootstrap_interval({values}, interquartile_mean, kCurveResamples);
  point.low = interval ? interval->low : point.iqm;
  point.high = interval ? interval->high : point.iqm;
  return point;
}

using ValuesByStep = std::map<int64_t, std::vector<double>>;

void collect(const std::vector<CurvePoint>& points, bool online, ValuesByStep& out) {
  std::map<int64_t, double> last;  // if two rows have the same step, the later one is used
  for (const auto& point : points) {
    if (point.online == online) last[point.step] = point.value;
  }
  for (const auto& [step, value] : last) out[step].push_back(value);
}

}  // namespace

std::string choice_name(const Report& report) {
  using Pick = EvaluationChoice::Pick;
  const auto& choice = report.choice;
  if (choice.pick != Pick::at) {
    return choice.pick == Pick::best ? "best evaluation" : "last evaluation";
  }
  std::set<int64_t> steps;
  for (const auto& task : report.tasks) {
    for (const auto& group : task.groups) {
      steps.insert(group.value_steps.begin(), group.value_steps.end());
    }
  }
  steps.erase(-1);
  if (steps.empty() || steps == std::set{choice.step}) {
    return fmt::format("evaluation at step {}", choice.step);
  }
  const auto used = steps.size() == 1
                        ? fmt::format("step {}", *steps.begin())
                        : fmt::format("steps {} to {}", *steps.begin(), *steps.rbegin());
  return fmt::format("last evaluation up to step {} ({})", choice.step, used);
}

std::vector<double> RunGroup::known_values() const {
  std::vector<double> known;
  for (const auto& value : values) {
    if (value) known.push_back(*value);
  }
  return known;
}

size_t RunGroup::count(RunState state) const {
  return static_cast<size_t>(std::count_if(
      runs.begin(), runs.end(), [&](const RunRecord& run) { return run.state == state; }));
}

size_t RunGroup::resumed() const {
  return static_cast<size_t>(std::count_if(runs.begin(), runs.end(),
                                           [](const RunRecord& run) { return run.sessions > 1; }));
}

bool RunGroup::online() const {
  return std::any_of(runs.begin(), runs.end(), [](const RunRecord& run) {
    return !run.evaluations.empty() ? run.evaluations.back().online : run.env_steps > 0;
  });
}

bool RunGroup::repeats_seeds() const {
  std::set<int64_t> seeds;
  for (const auto& run : runs) seeds.insert(run.seed);
  return seeds.size() < runs.size();
}

std::string RunGroup::label() const {
  std::string text = algo;
  for (const auto& [key, value] : shown_keys) text += fmt::format(" {}={}", key, value);
  return text;
}

std::string ReportTask::name() const {
  const bool no_env = env_id.empty() || env_id == "none";
  auto text = dataset.name.empty() ? env_id : no_env ? dataset.name : env_id + ", " + dataset.name;
  return name_is_shared ? text + " " + dataset.fingerprint.substr(0, 8) : text;
}

std::optional<double> ReportTask::normalized(double episode_return) const {
  return normalized_score(env_id, episode_return);
}

bool Report::repeats_seeds() const {
  for (const auto& task : tasks) {
    if (std::any_of(task.groups.begin(), task.groups.end(),
                    [](const RunGroup& group) { return group.repeats_seeds(); })) {
      return true;
    }
  }
  return false;
}

Report make_report(std::vector<RunRecord> runs, const ReportOptions& options) {
  Report report;
  report.choice = options.choice;
  check_keys(runs, options);
  runs = filtered(std::move(runs), options);
  check_step_is_reached(runs, options.choice);
  runs = once_each(std::move(runs), options, report.notes);

  std::map<std::string, ReportTask> tasks;
  std::map<std::string, std::map<std::string, RunGroup>> groups;  // by task, then by group key
  for (auto& run : runs) {
    const auto task = task_key(run);
    const auto [place, is_new] =
        tasks.try_emplace(task, ReportTask{run.env_id, run.dataset, {}, false});
    // If the same data has several names, the first in alphabetical order is shown, so that the
    // result does not depend on the order of the runs.
    if (run.dataset.name < place->second.dataset.name) place->second.dataset = run.dataset;
    const auto key = options.by.empty() ? full_key(run, options) : by_key(run, options);
    auto& group = groups[task][key];
    group.algo = run.algo;
    group.config_hash = key;
    group.runs.push_back(std::move(run));
  }
  for (auto& [key, task] : tasks) {
    for (auto& [name, group] : groups[key]) task.groups.push_back(std::move(group));
    for (auto& group : task.groups) fill_figures(group, options.choice);
    find_differing_keys(task, options);
    rank(task);
    report.tasks.push_back(std::move(task));
  }
  std::stable_sort(report.tasks.begin(), report.tasks.end(),
                   [](const ReportTask& a, const ReportTask& b) {
                     return std::tie(a.env_id, a.dataset.name, a.dataset.fingerprint) <
                            std::tie(b.env_id, b.dataset.name, b.dataset.fingerprint);
                   });
  if (!options.by.empty()) note_merged_keys(report);
  std::map<std::string, int> names;
  for (const auto& task : report.tasks) ++names[task.name()];
  for (auto& task : report.tasks) task.name_is_shared = names[task.name()] > 1;
  return report;
}

std::vector<BandPoint> learning_curve(const RunGroup& group, bool online, size_t most) {
  ValuesByStep by_step;
  for (const auto& run : group.runs) collect(run.evaluations, online, by_step);
  std::vector<int64_t> steps;
  for (const auto& [step, values] : by_step) steps.push_back(step);
  std::vector<BandPoint> curve;
  const size_t kept = std::min(most, steps.size());
  for (size_t i = 0; i < kept; ++i) {
    const size_t at = kept == 1 ? 0 : i * (steps.size() - 1) / (kept - 1);
    curve.push_back(band_at(steps[at], by_step[steps[at]]));
  }
  return curve;
}

std::vector<BandPoint> metric_curve(const RunGroup& group, const std::string& metric, bool online) {
  ValuesByStep by_step;
  for (const auto& run : group.runs) {
    const auto found = run.metrics.find(metric);
    if (found != run.metrics.end()) collect(found->second, online, by_step);
  }
  std::vector<BandPoint> curve;
  for (const auto& [step, values] : by_step) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    curve.push_back({step, mean_of(values), *low, *high, values.size()});
  }
  return curve;
}

}  // namespace rl_training
