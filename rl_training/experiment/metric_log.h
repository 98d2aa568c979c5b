#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rl_training/experiment/append_file.h"
#include "rl_training/util/json.h"
#include "rl_training/util/state.h"

namespace rl_training {

// Writes metrics.jsonl and metrics.csv. The jsonl file contains one object per line, with NaN and
// infinities as null. The csv file contains the same rows with fixed columns: missing values are
// empty cells, and keys without a column are omitted. If a resumed run has more columns, the csv
// file is rewritten from the jsonl file.
//
// Both files contain only values that the seed determines. Their lengths are part of the training
// state: a resumed run removes the rows that a killed process wrote after its last checkpoint, and
// writes them again.
class MetricLog {
 public:
  MetricLog(const std::string& run_path, std::vector<std::string> columns);

  void write(const Json& row);  // a flat object; both files contain it when this returns
  void flush();                 // syncs to disk

  void visit_state(StateVisitor& state);
  // Truncates the files to the loaded lengths. Existing csv columns retain their order; new columns
  // are appended.
  void restore();
  // Discards the loaded lengths. Needed if the run resumes in a new directory, to which the earlier
  // rows were not copied.
  void start_empty() { jsonl_bytes_ = csv_bytes_ = 0; }

 private:
  std::string csv_row(const Json& row) const;
  void rebuild_csv();

  std::vector<std::string> columns_;
  AppendFile jsonl_;
  AppendFile csv_;
  int64_t jsonl_bytes_ = 0;
  int64_t csv_bytes_ = 0;
};

// Writes timing.jsonl. The metric files contain no wall-clock times, so that two runs can be
// compared byte for byte.
class TimingLog {
 public:
  explicit TimingLog(const std::string& run_path);
  void write(int64_t update_count, double wall_time, double updates_per_second);

 private:
  AppendFile file_;
};

}  // namespace rl_training
