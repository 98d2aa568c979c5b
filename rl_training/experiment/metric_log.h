#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rl_training/experiment/append_file.h"
#include "rl_training/util/json.h"
#include "rl_training/util/state.h"

namespace rl_training {

// metrics.jsonl (one object a line; NaN and infinities as null) and metrics.csv (the same rows in
// columns fixed for the whole file; missing is an empty cell; keys outside the columns are only in
// the jsonl). A resumed run that has further columns writes the csv again from the jsonl. Both hold
// only what the seed determines, and their lengths are part of the training state: a resumed run
// cuts what a killed one wrote after its last checkpoint and writes it again.
class MetricLog {
 public:
  MetricLog(const std::string& run_path, std::vector<std::string> columns);

  void write(const Json& row);  // a flat object; in the files when this returns
  void flush();                 // onto the disk itself

  void visit_state(StateVisitor& state);
  // Cuts the files to the lengths just loaded. The columns of the existing csv stay, those that
  // this run adds follow them.
  void restore();
  // Forgets the lengths just loaded: the rows up to the checkpoint are not here.
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

// timing.jsonl: the wall clock lives only here, so that all other files of a run can be compared.
class TimingLog {
 public:
  explicit TimingLog(const std::string& run_path);
  void write(int64_t update_count, double wall_time, double updates_per_second);

 private:
  AppendFile file_;
};

}  // namespace rl_training
