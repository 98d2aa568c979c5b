#pragma once
#include "rl_training/render/chart.h"
#include "rl_training/report/groups.h"

namespace rl_training {

// Learning curves of all groups of a task on one time axis, with confidence intervals as bands.
Chart learning_curve_chart(const ReportTask& task, bool online);

// Curves of one metric for all groups of a task: the mean over runs, with a band from the smallest
// to the largest value.
Chart metric_chart(const ReportTask& task, const std::string& metric, bool online);

// Charts for each task and time axis. They show returns and validation metrics or, if `metrics` is
// not empty, those metrics. Throws Error{config} for a metric that no run has.
std::vector<Chart> report_charts(const Report& report,
                                 const std::vector<std::string>& metrics = {});

// Writes the charts of report_charts to one picture. `path` must end in .svg or .png. Throws
// Error{config} for another ending, if there is nothing to draw, or if this build cannot draw.
void write_plot(const Report& report, const std::string& path,
                const std::vector<std::string>& metrics = {});

}  // namespace rl_training
