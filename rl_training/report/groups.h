#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl_training/report/run_record.h"
#include "rl_training/report/statistics.h"

namespace rl_training {

// Which evaluation of a run counts. `best` is selected after the fact, hence optimistic.
struct EvaluationChoice {
  enum class Pick { last, best, at } pick = Pick::last;
  int64_t step = 0;  // of `at`: the last evaluation up to it, of runs that got there
};
// "last evaluation", "evaluation at step 5000", ...
std::string choice_name(const EvaluationChoice& choice);

struct ReportOptions {
  EvaluationChoice choice;
  std::vector<std::string> by;       // keys; empty: all that decide values
  std::vector<std::string> filters;  // "key=value", all of them hold
};

struct GroupFigures {
  double mean = 0, iqm = 0, median = 0;
  std::optional<ConfidenceInterval> interval;  // 95 %, of the IQM
};
using KeyValue = std::pair<std::string, std::string>;

// A figure at one step over the runs that have an evaluation there.
struct BandPoint {
  int64_t step = 0;
  double iqm = 0, low = 0, high = 0;
  size_t runs = 0;
};

// Runs that differ in their seed alone (or, with `by`, that share those keys).
struct RunGroup {
  std::string algo;
  std::string config_hash;               // SHA-256 of the keys and the data that decide values
  std::vector<KeyValue> differing_keys;  // those in which groups of this algorithm and task differ
  std::vector<RunRecord> runs;           // by seed; each seed of a config once
  std::vector<std::optional<double>> values;  // of the runs, as chosen
  std::optional<GroupFigures> figures;        // of the values that are there
  std::optional<double> best_wins;  // probability that a run of the task's best group is better
  std::optional<ConfidenceInterval> best_wins_interval;

  std::vector<double> known_values() const;
  size_t count(RunState state) const;
  size_t resumed() const;
  bool online() const;  // whether the chosen values are on the clock of environment steps
  // "algo key=value ...": enough to identify it within its task.
  std::string label() const;
};

// The groups on one environment and one dataset, best first.
struct ReportTask {
  std::string env_id;
  RunDataset dataset;
  std::vector<RunGroup> groups;

  // "Hopper-v4, hopper-medium-v2"; of several tasks of that name, with the data's fingerprint.
  std::string name() const;
  bool name_is_shared = false;
  // Returns as normalised scores, where the task has references.
  std::optional<double> normalized(double episode_return) const;
};

struct Report {
  EvaluationChoice choice;
  std::vector<ReportTask> tasks;
  std::vector<std::string> notes;  // runs left out, seeds that came twice, keys merged by `by`
};

// Error{config} for a filter or key that no run knows, and for filters that leave no run.
Report make_report(std::vector<RunRecord> runs, const ReportOptions& options);

// The IQM over runs at each evaluation step of one clock, with a 95 % interval (of one run: its
// value). More than `most` steps are thinned evenly; the first and last stay.
std::vector<BandPoint> learning_curve(const RunGroup& group, bool online, size_t most = 300);
// Mean, smallest and largest value of a metric over runs.
std::vector<BandPoint> metric_curve(const RunGroup& group, const std::string& metric, bool online);

}  // namespace rl_training
