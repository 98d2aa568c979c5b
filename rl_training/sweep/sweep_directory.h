#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rl_training/sweep/planned_run.h"
#include "rl_training/sweep/sweep_spec.h"

namespace rl_training {

// Options of Slurm jobs.
struct SlurmOptions {
  std::string partition, time;  // "": the default of the cluster
  int64_t array_limit = 0;      // number of tasks at a time; 0: no limit
  int64_t threads = 1;          // threads per run
};

// Jobs of a sweep on Slurm.
struct SlurmState {
  std::string array, follow_up;  // the latest submitted jobs; "": none
  SlurmOptions options;
  struct Attempt {
    // `count`: submissions since the run last made progress. `position`: position of the run at the
    // latest submission.
    int64_t count = 0, position = 0;
  };
  std::map<size_t, Attempt> attempts;  // by run number
};

// A sweep on disk: sweep.json and, for each trial, a directory trial-000, trial-001, ... with the
// config trial.yaml and the runs. The directory is sufficient to continue, inspect or cancel the
// sweep.
class SweepDirectory {
 public:
  // Creates the directory, or opens the existing directory of this sweep. The new spec may change
  // `retries` and, without halving, add trials and change the seeds. Any other change throws
  // Error{config}.
  static SweepDirectory create(FileSystem& files, const SweepSpec& spec,
                               const std::vector<Trial>& trials);
  static SweepDirectory open(FileSystem& files, const std::string& path);
  // Like create() for a new directory, but writes nothing to disk.
  static SweepDirectory planned(const SweepSpec& spec, const std::vector<Trial>& trials);

  const std::string& path() const { return path_; }
  size_t trial_count() const { return trials_.size(); }
  size_t run_count() const { return trials_.size() * seeds_.size(); }
  const std::vector<int64_t>& seeds() const { return seeds_; }
  const std::string& trial_label(size_t trial) const { return trials_[trial].label; }
  const Json& trial_settings(size_t trial) const { return trials_[trial].settings; }
  const std::string& metric() const { return metric_; }
  MetricMode mode() const { return rules_.mode; }
  int64_t selection_updates() const { return selection_updates_; }
  int64_t retries() const { return retries_; }

  // The run with the number `trial * number of seeds + index of the seed`, with the arguments of
  // its `train` call.
  PlannedRun run(size_t number, size_t threads) const;
  std::vector<size_t> runs_of(const std::vector<size_t>& trials) const;

  // The current round. The last round trains to the end of the runs.
  SweepRound present_round() const { return next_round(rules_, rounds_); }
  // Completed rounds. Their values are stored, because continuing the runs changes the metrics.
  const std::vector<SweepRound>& past_rounds() const { return rounds_; }
  // Stores a completed round with its values.
  void finish_round(SweepRound round);

  SlurmState& slurm() { return slurm_; }
  void save();

 private:
  struct StoredTrial {
    std::string label, config_hash;
    Json settings;
  };

  SweepDirectory(FileSystem& files, std::string path) : files_(&files), path_(std::move(path)) {}
  std::string file() const { return path_ + "/sweep.json"; }
  std::string trial_directory(size_t trial) const;
  void define(const SweepSpec& spec, const std::vector<Trial>& trials);
  void load();
  Json definition() const;

  FileSystem* files_;
  std::string path_;
  std::vector<StoredTrial> trials_;
  std::vector<int64_t> seeds_;
  std::string metric_;
  RoundRules rules_;
  int64_t selection_updates_ = 0, retries_ = 0;
  std::vector<SweepRound> rounds_;
  SlurmState slurm_;
};

// The value of one run: the last value of the metric up to `pause_at`, or up to the end.
std::optional<double> run_value(FileSystem& files, const PlannedRun& run, const std::string& metric,
                                std::optional<int64_t> pause_at);

// The mean over the seeds of each trial. `runs` contains the values of all runs in order. A trial
// with missing values has no mean.
TrialValues trial_values(const TrialValues& runs, size_t seeds);

}  // namespace rl_training
