#pragma once
#include <string>
#include <vector>

#include "rl_training/report/groups.h"

namespace rl_training {

// The keys of a run that decide the reported values, without the seed, sorted. The length counts,
// except where a step is asked for (`at`) that does not depend on it. Data counts by its
// fingerprint rather than by its path.
std::vector<KeyValue> deciding_keys(const RunRecord& run, const ReportOptions& options);

// Hashes: of all deciding keys and the task; of the keys that `by` names, the algorithm and the
// task.
std::string full_key(const RunRecord& run, const ReportOptions& options);
std::string by_key(const RunRecord& run, const ReportOptions& options);
// What makes runs comparable: environment and data.
std::string task_key(const RunRecord& run);
// Without "algo_kwargs.", which is of no use to readers.
std::string short_key(const std::string& key);

// Error{config} for a key of `by` or of a filter that no run has.
void check_keys(const std::vector<RunRecord>& runs, const ReportOptions& options);
// Error{config} when nothing is left.
std::vector<RunRecord> filtered(std::vector<RunRecord> runs, const ReportOptions& options);
// A note for each group that holds different values of keys that `by` does not name.
void note_merged_keys(Report& report);

}  // namespace rl_training
