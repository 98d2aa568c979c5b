#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rl_training/report/groups.h"

namespace rl_training {

// The metrics of the task's runs; validation_names_of returns only those measured on held-out data.
std::set<std::string> metric_names_of(const ReportTask& task);
std::vector<std::string> validation_names_of(const ReportTask& task);
// The title of a metric: "td error" for "validation_td_error".
std::string validation_title(const std::string& metric);

// The mean over runs of the last value of a metric.
std::optional<double> mean_last_value(const RunGroup& group, const std::string& metric);

// Whether any run of the task was evaluated in an environment.
bool has_evaluations(const ReportTask& task);

}  // namespace rl_training
