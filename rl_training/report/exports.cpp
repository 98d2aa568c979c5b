#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "rl_training/report/profile.h"
#include "rl_training/report/tables.h"
#include "rl_training/report/task_metrics.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

Json number_or_null(const std::optional<double>& value) {
  return value ? json_number(*value) : Json();
}

std::optional<double> last_of(const RunRecord& run) {
  return run.evaluations.empty() ? std::nullopt : std::optional(run.evaluations.back().value);
}

std::optional<double> best_of(const RunRecord& run) {
  std::optional<double> best;
  for (const auto& point : run.evaluations)
    best = std::max(best.value_or(point.value), point.value);
  return best;
}

Json estimate_json(const std::optional<RunEstimate>& estimate) {
  if (!estimate) return nullptr;
  return {{"value", json_number(estimate->value)},
          {"low", json_number(estimate->low)},
          {"high", json_number(estimate->high)},
          {"rank", json_number(estimate->rank)},
          {"candidates", estimate->candidates}};
}

Json run_json(const RunRecord& run, const std::optional<double>& value, int64_t value_step) {
  return {{"run_dir", run.path},
          {"seed", run.seed},
          {"state", run_state_name(run.state)},
          {"sessions", run.sessions},
          {"update_count", run.updates},
          {"global_step", run.has_online ? run.env_steps : run.updates},
          {"value", number_or_null(value)},
          {"value_step", value ? Json(value_step) : Json()},
          {"last_return", number_or_null(last_of(run))},
          {"best_return", number_or_null(best_of(run))},
          {"estimate", estimate_json(run.estimate)},
          {"seconds", json_number(run.seconds)},
          {"commit", run.commit}};
}

int64_t reached(const RunGroup& group) {
  int64_t least = -1;
  for (const auto& run : group.runs) {
    const int64_t steps = group.online() ? run.env_steps : run.updates;
    least = least < 0 ? steps : std::min(least, steps);
  }
  return least;
}

Json group_json(const ReportTask& task, const RunGroup& group) {
  const auto& figures = group.figures;
  const auto figure = [&](double GroupFigures::*field) {
    return figures ? json_number((*figures).*field) : Json();
  };
  const ConfidenceInterval* interval = figures && figures->interval ? &*figures->interval : nullptr;
  const auto score = [&](const std::optional<double>& value) {
    return value ? number_or_null(task.normalized(*value)) : Json();
  };
  Json keys = Json::object(), last = Json::object(), runs = Json::array();
  Json validation = Json::object();
  for (const auto& name : validation_names_of(task)) {
    validation[name] = number_or_null(mean_last_value(group, name));
  }
  for (const auto& [key, value] : group.differing_keys) keys[key] = value;
  for (size_t i = 0; i < group.runs.size(); ++i) {
    last[std::to_string(group.runs[i].seed)] = number_or_null(last_of(group.runs[i]));
    runs.push_back(run_json(group.runs[i], group.values[i], group.value_steps[i]));
  }
  return {
      {"algo", group.algo},
      {"env", task.env_id},
      {"dataset", task.dataset.name},
      {"config_hash", group.config_hash},
      {"differing_keys", keys},
      {"seeds", group.known_values().size()},
      {"steps", reached(group)},
      {"clock", group.online() ? "environment steps" : "updates"},
      {"mean", figure(&GroupFigures::mean)},
      {"iqm", figure(&GroupFigures::iqm)},
      {"median", figure(&GroupFigures::median)},
      {"low", interval ? json_number(interval->low) : Json()},
      {"high", interval ? json_number(interval->high) : Json()},
      {"normalized_iqm", score(figures ? std::optional(figures->iqm) : std::nullopt)},
      {"normalized_low", score(interval ? std::optional(interval->low) : std::nullopt)},
      {"normalized_high", score(interval ? std::optional(interval->high) : std::nullopt)},
      {"best_wins", number_or_null(group.best_wins)},
      {"best_wins_low", group.best_wins_interval ? Json(group.best_wins_interval->low) : Json()},
      {"best_wins_high", group.best_wins_interval ? Json(group.best_wins_interval->high) : Json()},
      {"dataset_return", number_or_null(task.dataset.return_mean)},
      {"last_by_seed", last},
      {"validation", validation},
      {"runs", runs}};
}

Json task_json(const ReportTask& task) {
  const auto profiles = task_profiles(task);
  Json shares = Json::array();
  for (const auto& share : profiles.shares) shares.push_back(share);
  return {{"env", task.env_id},
          {"dataset", task.dataset.name},
          {"fingerprint", task.dataset.fingerprint},
          {"rows", task.dataset.rows},
          {"episodes", task.dataset.episodes},
          {"return_mean", number_or_null(task.dataset.return_mean)},
          {"warnings", task.dataset.warnings},
          {"profile", {{"thresholds", profiles.thresholds}, {"share_above", shares}}}};
}

std::string exact(const Json& value) {
  return value.is_null() ? "" : value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

Json report_json(const Report& report) {
  Json groups = Json::array(), tasks = Json::array();
  for (const auto& task : report.tasks) {
    tasks.push_back(task_json(task));
    for (const auto& group : task.groups) groups.push_back(group_json(task, group));
  }
  return {{"choice", choice_name(report)},
          {"groups", groups},
          {"tasks", tasks},
          {"notes", report.notes}};
}

std::string report_csv(const Report& report) {
  const std::vector<std::string> columns = {"env",
                                            "dataset",
                                            "algo",
                                            "config_hash",
                                            "seeds",
                                            "steps",
                                            "clock",
                                            "mean",
                                            "iqm",
                                            "median",
                                            "low",
                                            "high",
                                            "normalized_iqm",
                                            "normalized_low",
                                            "normalized_high",
                                            "best_wins",
                                            "best_wins_low",
                                            "best_wins_high",
                                            "dataset_return"};
  std::set<std::string> names, validations;
  for (const auto& task : report.tasks) {
    for (const auto& name : validation_names_of(task)) validations.insert(name);
    for (const auto& group : task.groups) {
      for (const auto& [key, value] : group.differing_keys) names.insert(key);
    }
  }
  auto header = columns;
  for (const auto& name : names) header.push_back(printable(name));
  for (const auto& name : validations) header.push_back(printable(name));
  for (const auto state : kRunStates) header.emplace_back(run_state_name(state));
  header.emplace_back("resumed");
  std::string text = csv_line(header);
  for (const auto& task : report.tasks) {
    for (const auto& group : task.groups) {
      const auto json = group_json(task, group);
      std::vector<std::string> cells;
      cells.reserve(header.size());
      for (const auto& column : columns) cells.push_back(printable(exact(json[column])));
      for (const auto& name : names) {
        cells.push_back(printable(exact(json["differing_keys"].value(name, Json()))));
      }
      for (const auto& name : validations) {
        cells.push_back(exact(json["validation"].value(name, Json())));
      }
      for (const auto state : kRunStates) cells.push_back(std::to_string(group.count(state)));
      cells.push_back(std::to_string(group.resumed()));
      text += csv_line(cells);
    }
  }
  return text;
}

}  // namespace rl_training
