#include "rl_training/report/task_metrics.h"

#include <algorithm>

namespace rl_training {
namespace {

const std::string kValidation = "validation_";

}  // namespace

std::set<std::string> metric_names_of(const ReportTask& task) {
  std::set<std::string> names;
  for (const auto& group : task.groups) {
    for (const auto& run : group.runs) {
      for (const auto& [name, points] : run.metrics) names.insert(name);
    }
  }
  return names;
}

std::vector<std::string> validation_names_of(const ReportTask& task) {
  std::vector<std::string> names;
  for (const auto& name : metric_names_of(task)) {
    if (name.starts_with(kValidation)) names.push_back(name);
  }
  return names;
}

std::string validation_title(const std::string& metric) {
  auto title = metric.substr(kValidation.size());
  std::replace(title.begin(), title.end(), '_', ' ');
  return title;
}

std::optional<double> mean_last_value(const RunGroup& group, const std::string& metric) {
  std::vector<double> values;
  for (const auto& run : group.runs) {
    for (const auto& [name, value] : run.last_metrics) {
      if (name == metric) values.push_back(value);
    }
  }
  return values.empty() ? std::nullopt : std::optional(mean_of(values));
}

bool has_evaluations(const ReportTask& task) {
  for (const auto& group : task.groups) {
    for (const auto& run : group.runs) {
      if (!run.evaluations.empty()) return true;
    }
  }
  return false;
}

}  // namespace rl_training
