#pragma once
#include <vector>

#include "rl_training/report/groups.h"

namespace rl_training {

// For each group of a task, the share of its runs above each threshold. A group without values has
// an empty list. The thresholds span all values of the task.
struct TaskProfiles {
  std::vector<double> thresholds;
  std::vector<std::vector<double>> shares;
};
// Whether profiles add information to the table. They do if a group has several runs with different
// values.
bool has_profiles(const ReportTask& task);
TaskProfiles task_profiles(const ReportTask& task, size_t points = 51);

}  // namespace rl_training
