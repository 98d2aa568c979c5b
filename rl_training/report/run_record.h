#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rl_training/util/file_system.h"

namespace rl_training {

// `finished`: reached the end of training, or stopped early as configured or by a callback.
// `running`: being trained by a process on this machine. `paused`: stopped with a checkpoint before
// the end of training, by `--pause-at` or by the halving of a sweep. `unfinished`: stopped by a
// signal, killed, or running on another machine. `failed`: stopped with an error, for example
// because the losses diverged.
enum class RunState { finished, running, paused, unfinished, failed };
inline constexpr RunState kRunStates[] = {RunState::finished, RunState::running, RunState::paused,
                                          RunState::unfinished, RunState::failed};
const char* run_state_name(RunState state);

// A point on one of the two time axes: updates (offline) or environment steps (online).
struct CurvePoint {
  bool online = false;
  int64_t step = 0;  // in updates or, if online, in environment steps
  double value = 0;
};

struct RunDataset {
  std::string name;         // dataset_id, file name, kind or "mix"
  std::string fingerprint;  // "" if unknown, "none" without a dataset
  int64_t rows = 0, episodes = 0;
  std::optional<double> return_mean;
  std::vector<std::string> warnings;  // about the data, as in `dataset inspect`
};

// Estimate of `select` for a policy of the run.
struct RunEstimate {
  double value = 0, low = 0, high = 0;  // discounted return with its 95 % interval
  double rank = 0;                      // among the candidates; 1 is the best
  int64_t candidates = 0;
};

// The contents of the directory of a run, which may still be training. Text is not escaped: code
// that displays it must use `printable` or escape it.
struct RunRecord {
  std::string path;
  std::string algo, env_id;
  int64_t seed = 0;
  std::vector<std::pair<std::string, std::string>> config;  // dotted keys in the file's order
  std::vector<std::string> tags;
  RunDataset dataset;

  RunState state = RunState::unfinished;
  std::string stop_reason;  // stop reason of the last session, if recorded
  size_t sessions = 0;
  // `started` and `command` are from the first session, `version` and `commit` from the last.
  std::string started, command, version, commit;
  bool has_online = false;
  int64_t updates = 0, env_steps = 0;  // progress so far, from metrics.jsonl
  int64_t planned_updates = 0, planned_env_steps = 0;
  double seconds = 0;  // training time of all sessions, from the rates in timing.jsonl

  std::vector<CurvePoint> evaluations;                       // mean returns, in order
  std::map<std::string, std::vector<CurvePoint>> metrics;    // the other metrics, thinned
  std::vector<std::pair<std::string, double>> last_metrics;  // the last value of each metric
  std::vector<std::string> checkpoints;                      // names, "best" first
  std::optional<RunEstimate> estimate;  // estimate of the run's highest-ranked policy

  // The value of a key; "" if there is none. A key without a prefix is also looked up in
  // algo_kwargs, as in `--set`.
  std::string value_of(const std::string& key) const;
};

// Finds the run directories among the paths and below them. Throws Error{io} for a path that
// contains none.
std::vector<std::string> find_runs(FileSystem& files, const std::vector<std::string>& paths);

// Reads a run without locking it. Ignores a row that is still being written. Throws Error{io} for a
// file that is too large or not a regular file, and Error{config} for an unreadable config.
RunRecord read_run(FileSystem& files, const std::string& run_dir);

// Reads all runs below the paths. Warns about runs that cannot be read. If no run can be read,
// throws the error of the first run.
std::vector<RunRecord> read_runs(FileSystem& files, const std::vector<std::string>& paths,
                                 const std::function<void(const std::string&)>& warn);

}  // namespace rl_training
