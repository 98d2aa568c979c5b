#pragma once
#include "rl_training/render/chart.h"
#include "rl_training/report/groups.h"

namespace rl_training {

// Learning curves of all groups of a task on one clock, with their intervals as bands.
Chart learning_curve_chart(const ReportTask& task, bool online);

// Writes the learning curves of a report for a paper: one panel below the other for each task and
// clock; `path` ends in .svg or .png. Error{config} for another ending or where this build cannot
// draw.
void write_plot(const Report& report, const std::string& path);

}  // namespace rl_training
