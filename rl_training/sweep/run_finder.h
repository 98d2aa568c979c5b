#pragma once
#include <optional>
#include <string>

#include "rl_training/experiment/train_config.h"
#include "rl_training/util/file_system.h"

namespace rl_training {

// Finds the newest run with this config, including its seed and length, in the config's output_dir.
// Threads and tags may differ. Returns "" if there is no such run. `from` is the run or checkpoint
// from which the run must have started; "": none.
std::string find_run(FileSystem& files, const TrainConfig& config, const std::string& from = "");

// The position of a run, summed over all its phases, computed from a row of its metrics.
int64_t position_in(const Json& row, const TrainConfig& config);
// The position of the end of a run.
int64_t length_of(const TrainConfig& config);

// Reads the metrics of a run incrementally while the run writes them.
class MetricTail {
 public:
  explicit MetricTail(std::string run_dir) : path_(std::move(run_dir) + "/metrics.jsonl") {}

  // Reads new complete rows.
  void update();
  const Json& last_row() const { return last_; }  // null before the first row
  std::optional<double> newest(const std::string& metric) const;

 private:
  std::string path_;
  int64_t offset_ = 0;
  Json last_, newest_ = Json::object();
};

// The last value of a metric in the rows up to a position; nullopt if there is none.
std::optional<double> metric_at(const std::string& run_dir, const std::string& metric,
                                int64_t position, const TrainConfig& config);

}  // namespace rl_training
