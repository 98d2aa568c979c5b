#pragma once
#include <vector>

#include "rl_training/report/groups.h"

namespace rl_training {

// For each group of a task, the share of its runs above each threshold; empty for a group without
// values. Thresholds span all values of the task.
struct TaskProfiles {
  std::vector<double> thresholds;
  std::vector<std::vector<double>> shares;
};
// Whether profiles say more than the table: some group has several runs, and their values differ.
bool has_profiles(const ReportTask& task);
TaskProfiles task_profiles(const ReportTask& task, size_t points = 51);

}  // namespace rl_training
