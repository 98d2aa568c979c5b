#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl_training/report/run_record.h"
#include "rl_training/report/statistics.h"

namespace rl_training {

// Which evaluation of a run is reported: the last one, the one with the highest return (`best`), or
// the last one up to a given step (`at`). `best` is optimistic, because it is selected after
// training.
struct EvaluationChoice {
  enum class Pick { last, best, at } pick = Pick::last;
  // For `at`: the last evaluation up to this step. A run that has not reached the step has no
  // value.
  int64_t step = 0;
};

struct ReportOptions {
  EvaluationChoice choice;
  std::vector<std::string> by;       // keys that define groups; empty: all keys that affect values
  std::vector<std::string> filters;  // "key=value"; runs must match all of them
};

struct GroupFigures {
  double mean = 0, iqm = 0, median = 0;
  std::optional<ConfidenceInterval> interval;  // 95 % interval of the IQM
};
using KeyValue = std::pair<std::string, std::string>;

// A point of a curve over the runs that have a value at `step`: the IQM with its 95 % interval. For
// curves of metrics, `iqm` contains the mean, and `low` and `high` contain the range over runs.
struct BandPoint {
  int64_t step = 0;
  double iqm = 0, low = 0, high = 0;
  size_t runs = 0;
};

// Runs that differ only in their seed or, with `by`, runs of one algorithm with equal values of the
// keys in `by`.
struct RunGroup {
  std::string algo;
  std::string config_hash;               // SHA-256 of the task, algorithm and keys of the group
  std::vector<KeyValue> differing_keys;  // keys in which groups of this algorithm and task differ
  std::vector<KeyValue> shown_keys;      // differing_keys with shortened values, for display
  std::vector<RunRecord> runs;           // sorted by seed; each seed of a config appears once
  std::vector<std::optional<double>> values;  // selected value of each run
  std::vector<int64_t> value_steps;           // steps of `values`; -1 without a value
  std::optional<GroupFigures> figures;        // statistics of the available values
  // Probability that a run of the task's best group is better than a run of this group.
  std::optional<double> best_wins;
  std::optional<ConfidenceInterval> best_wins_interval;

  std::vector<double> known_values() const;
  size_t count(RunState state) const;
  size_t resumed() const;
  bool online() const;         // whether `value_steps` counts environment steps
  bool repeats_seeds() const;  // true if `by` merges several configs with the same seeds
  // "algo key=value ...", which identifies the group within its task.
  std::string label() const;
};

// The groups with the same environment and dataset, best first.
struct ReportTask {
  std::string env_id;
  RunDataset dataset;
  std::vector<RunGroup> groups;

  // "Hopper-v4, hopper-medium-v2". If several tasks have this name, the data's fingerprint is
  // added.
  std::string name() const;
  bool name_is_shared = false;
  // Converts returns to normalised scores if the task has reference scores.
  std::optional<double> normalized(double episode_return) const;
};

struct Report {
  EvaluationChoice choice;
  std::vector<ReportTask> tasks;
  std::vector<std::string> notes;  // runs ignored as duplicate seeds, keys merged by `by`

  bool repeats_seeds() const;  // whether any group repeats seeds
};

// "last evaluation", "evaluation at step 5000", "last evaluation up to step 150 (step 100)", ...
std::string choice_name(const Report& report);

// Throws Error{config} for a filter or key that no run has, for filters that match no run, and for
// a step that no run has reached or can still reach.
Report make_report(std::vector<RunRecord> runs, const ReportOptions& options);

// The IQM over runs at each evaluation step on one time axis, with a 95 % interval. For a single
// run, both ends of the interval equal the run's value. Curves with more than `most` steps are
// thinned evenly; the first and the last step remain.
std::vector<BandPoint> learning_curve(const RunGroup& group, bool online, size_t most = 300);
// The mean, smallest and largest value of a metric over runs at each step.
std::vector<BandPoint> metric_curve(const RunGroup& group, const std::string& metric, bool online);

}  // namespace rl_training
