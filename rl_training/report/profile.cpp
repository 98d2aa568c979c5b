#include "rl_training/report/profile.h"

#include <algorithm>

namespace rl_training {

bool has_profiles(const ReportTask& task) {
  return std::any_of(task.groups.begin(), task.groups.end(), [](const RunGroup& group) {
    const auto values = group.known_values();
    return std::any_of(values.begin(), values.end(),
                       [&](double value) { return value != values.front(); });
  });
}

TaskProfiles task_profiles(const ReportTask& task, size_t points) {
  std::vector<double> all;
  for (const auto& group : task.groups) {
    const auto values = group.known_values();
    all.insert(all.end(), values.begin(), values.end());
  }
  TaskProfiles profiles;
  profiles.shares.resize(task.groups.size());
  if (all.empty()) return profiles;
  const auto [low, high] = std::minmax_element(all.begin(), all.end());
  // The thresholds start just below the smallest value, where every share is 1, and end at the
  // largest value, where every share is 0.
  const double begin = *low - 0.02 * (*high - *low), width = *high - begin;
  for (size_t i = 0; i < points; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(points - 1);
    profiles.thresholds.push_back(i + 1 == points ? *high : begin + part * width);
  }
  for (size_t i = 0; i < task.groups.size(); ++i) {
    const auto values = task.groups[i].known_values();
    if (!values.empty()) profiles.shares[i] = performance_profile(values, profiles.thresholds);
  }
  return profiles;
}

}  // namespace rl_training
