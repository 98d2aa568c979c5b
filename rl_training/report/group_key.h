#pragma once
#include <string>
#include <vector>

#include "rl_training/report/groups.h"

namespace rl_training {

// The sorted keys of a run that affect the reported values, without the seed. The length is
// included, except for a step (`at`) that does not depend on it. Data is identified by fingerprint,
// not by path.
std::vector<KeyValue> deciding_keys(const RunRecord& run, const ReportOptions& options);

// Hashes of all these keys and the task, or of the keys in `by`, the algorithm and the task.
std::string full_key(const RunRecord& run, const ReportOptions& options);
std::string by_key(const RunRecord& run, const ReportOptions& options);
// Runs are comparable if environment and data are the same.
std::string task_key(const RunRecord& run);
// Without the prefix "algo_kwargs.", for display.
std::string short_key(const std::string& key);

// Values of one key for display: numbers with four significant digits, paths as ".../" and their
// last component. Values that would then look the same keep as much as tells them apart.
std::vector<std::string> short_values(const std::vector<std::string>& values);

// Fills the keys in which groups differ. They are compared only between groups of one algorithm,
// because algorithms have different keys.
void find_differing_keys(ReportTask& task, const ReportOptions& options);

// Throws Error{config} for a key of `by` or of a filter that no run has.
void check_keys(const std::vector<RunRecord>& runs, const ReportOptions& options);
// Throws Error{config} if no run is left.
std::vector<RunRecord> filtered(std::vector<RunRecord> runs, const ReportOptions& options);
// A note for each group whose runs differ in keys that `by` does not name.
void note_merged_keys(Report& report);

}  // namespace rl_training
