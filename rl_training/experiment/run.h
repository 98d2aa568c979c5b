#pragma once
#include <memory>
#include <optional>

#include "rl_training/experiment/checkpoint_store.h"
#include "rl_training/experiment/metric_log.h"
#include "rl_training/experiment/run_directory.h"
#include "rl_training/experiment/run_parts.h"
#include "rl_training/experiment/tensorboard_log.h"

namespace rl_training {

struct ResumeChanges {
  std::optional<int64_t> total_timesteps, threads;
  std::optional<int64_t> online_timesteps = std::nullopt;  // adds or extends an online phase
  std::optional<std::string> dataset_path = {};            // new location of the same data
  std::optional<std::string> output_dir = {};              // resume in a new run directory below it
  // The data of a run with `dataset_kind: memory`, which is not stored in a file.
  std::shared_ptr<const MemoryArrays> arrays = {};
};

struct RunResult {
  std::string run_dir, checkpoint;
  TrainSummary summary;
};

// One training run in its directory: dataset, policy, training loop, logs and checkpoints. If
// several processes train the run together, process 0 has a Run and the others have a RunWorker.
class Run final : private RunSink {
 public:
  // `from` is a run or a checkpoint that provides the initial parameters (warm_start.h).
  static std::unique_ptr<Run> start(const TrainConfig& config, RunContext context,
                                    const std::string& from = "");
  // Resumes from the newest valid checkpoint of a run, or from the given checkpoint. If the given
  // checkpoint is not the newest of its run, training continues in a new directory, so that nothing
  // is overwritten.
  static std::unique_ptr<Run> resume(const std::string& run_or_checkpoint,
                                     const ResumeChanges& changes, RunContext context);

  RunResult train(const Callbacks& callbacks = {}, StopRequests* requests = nullptr);
  // Writes the current state as a checkpoint outside the run directory. Allowed only if a single
  // process trains the run.
  void save(const std::string& directory);

  const TrainConfig& config() const { return parts_.policy.config(); }
  const std::string& path() const { return directory_.path(); }
  const DatasetFacts& dataset() const { return parts_.dataset; }
  TrainedPolicy& policy() { return parts_.policy; }

 private:
  Run(const TrainConfig& config, RunData data, RunDirectory directory, RunContext context,
      const Checkpoint* from = nullptr);
  struct Content {
    std::vector<ArchiveEntry> entries;
    std::vector<CheckpointFile> files;
  };
  Content content();
  void save_with_others(const std::function<void()>& save);
  void visit_state(StateVisitor& state);
  void check_length(const ResumeChanges& changes) const;
  void check_online_phase(const ResumeChanges& changes) const;
  void continue_logs(bool has_logs);
  void inherit_best(const std::string& origin, int64_t step);
  void save_checkpoint_of(int64_t step, bool best);
  void save_or_warn(int64_t step, const std::function<void()>& save);
  void write_metadata(int64_t from_update);
  Json facts() const;

  void log(const Json& row) override;
  void checkpoint(int64_t step, bool best) override;
  void warn(const std::string& line) override { context_.warn(line); }
  void phase_end(int64_t step, const std::string& phase) override;

  RunContext context_;
  RunDirectory directory_;
  RunParts parts_;
  CheckpointStore store_;
  MetricLog metric_log_;
  TimingLog timing_log_;
  std::unique_ptr<TensorBoardLog> tensorboard_;
  std::string last_checkpoint_;
  std::vector<std::string> shares_;  // state of the other processes for the next checkpoint
  std::string saved_in_;             // path of the checkpoint that contains shares_
  int failed_saves_ = 0;             // consecutive failures
  int64_t timed_update_ = 0;
  double timed_at_ = 0;
};

}  // namespace rl_training
