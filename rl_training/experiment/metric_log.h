#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rl_training/experiment/append_file.h"
#include "rl_training/util/json.h"
#include "rl_training/util/state.h"

namespace rl_training {

// metrics.jsonl (one object per line; NaN and infinities as null) and metrics.csv (the same rows
// with fixed columns; missing values are empty cells; keys outside the columns are only in the
// jsonl). If a resumed run has further columns, the csv is rewritten from the jsonl. Both files
// contain only values that the seed determines, and their lengths are part of the training state: a
// resumed run truncates what a killed process wrote after its last checkpoint, and writes it again.
class MetricLog {
 public:
  MetricLog(const std::string& run_path, std::vector<std::string> columns);

  void write(const Json& row);  // a flat object; written to the files before this returns
  void flush();                 // syncs to disk

  void visit_state(StateVisitor& state);
  // Truncates the files to the loaded lengths. Existing csv columns keep their order; new columns
  // follow them.
  void restore();
  // Discards the loaded lengths, because the rows up to the checkpoint are not in this directory.
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

// timing.jsonl: wall-clock times are written only here, so that all other files of runs can be
// compared.
class TimingLog {
 public:
  explicit TimingLog(const std::string& run_path);
  void write(int64_t update_count, double wall_time, double updates_per_second);

 private:
  AppendFile file_;
};

}  // namespace rl_training
