#pragma once
#include <string>
#include <vector>

#include "rl_training/report/groups.h"

namespace rl_training {

// Data for the page's script: curves, profiles and metrics of all tasks. The JSON text is safe
// inside a <script> element. Curves are thinned, so that hundreds of runs take a few megabytes.
std::string chart_data_json(const Report& report);

// The time axes of a task's curves: false is updates, true is environment steps.
std::vector<bool> clocks_of(const ReportTask& task);
const char* clock_name(bool online);

}  // namespace rl_training
