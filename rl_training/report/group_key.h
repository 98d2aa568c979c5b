#pragma once
#include <string>
#include <vector>

#include "rl_training/report/groups.h"

namespace rl_training {

// The sorted keys of a run that affect the reported values, without the seed. The length of the run
// is excluded if the report shows values at a fixed step (`at`) that do not depend on the length.
// Data is identified by its fingerprint, not by its path. If `by` is set, returns only the keys in
// `by`.
std::vector<KeyValue> deciding_keys(const RunRecord& run, const ReportOptions& options);

// Hash of the task, the algorithm and the deciding keys. full_key uses all deciding keys; by_key
// uses only the keys in `by`.
std::string full_key(const RunRecord& run, const ReportOptions& options);
std::string by_key(const RunRecord& run, const ReportOptions& options);
// Runs with the same task key have the same environment and data, so they are comparable.
std::string task_key(const RunRecord& run);
// Removes the prefix "algo_kwargs." for display.
std::string short_key(const std::string& key);

// Shortens the values of one key for display: numbers to four significant digits, paths to ".../"
// and their last component. Uses more digits or components if different values would look the same.
std::vector<std::string> short_values(const std::vector<std::string>& values);

// Fills `differing_keys` and `shown_keys` of all groups. Compares only groups of the same
// algorithm, because algorithms have different keys.
void find_differing_keys(ReportTask& task, const ReportOptions& options);

// Throws Error{config} if `by` or a filter names a key that no run has.
void check_keys(const std::vector<RunRecord>& runs, const ReportOptions& options);
// Throws Error{config} if no run matches the filters.
std::vector<RunRecord> filtered(std::vector<RunRecord> runs, const ReportOptions& options);
// Adds a note that lists the keys in which merged runs differ.
void note_merged_keys(Report& report);

}  // namespace rl_training
