#pragma once
#include <string>
#include <vector>

#include "rl_training/report/groups.h"

namespace rl_training {

// Data for the page's script, as JSON that is safe inside a <script> element: curves, profiles and
// metrics of all tasks, thinned so that hundreds of runs take a few megabytes.
std::string chart_data_json(const Report& report);

// The time axes on which the groups of a task have evaluations: false is updates, true is
// environment steps.
std::vector<bool> clocks_of(const ReportTask& task);
const char* clock_name(bool online);

}  // namespace rl_training
