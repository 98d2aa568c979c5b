#include "rl_training/data/inspect.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rl_training/data/dataset_checks.h"

namespace rl_training {
namespace {

// Collects the statistics of a sequence of values. Computes the variance with Welford's algorithm,
// because sums of squares lose precision if the mean is large.
class RangeCounter {
 public:
  void add(double value) {
    range_.min = count_ == 0 ? value : std::min(range_.min, value);
    range_.max = count_ == 0 ? value : std::max(range_.max, value);
    ++count_;
    const double before = value - range_.mean;
    range_.mean += before / static_cast<double>(count_);
    squares_ += before * (value - range_.mean);
  }
  ValueRange range() const {
    ValueRange result = range_;
    result.std = count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_));
    return result;
  }

 private:
  int64_t count_ = 0;
  double squares_ = 0;
  ValueRange range_;
};

// Converts an action back to the units of the file. The reader scaled the action to [-1, 1] with
// the bounds in the options.
double action_of_file(const DatasetReadOptions& options, int64_t k, double value) {
  const bool scaled = options.bounds && !options.bounds->is_discrete();
  return scaled ? options.bounds->from_unit(k, value) : value;
}

template <class Value>
std::vector<ValueRange> column_ranges(const LoggedSteps& steps, int64_t dims, const Value& value) {
  std::vector<RangeCounter> counters(static_cast<size_t>(dims));
  for (int64_t slot = 0; slot < steps.slots(); ++slot) {
    if (steps.is(slot, LoggedSteps::kObservationOnly)) continue;
    for (int64_t k = 0; k < dims; ++k) counters[static_cast<size_t>(k)].add(value(slot, k));
  }
  std::vector<ValueRange> ranges;
  ranges.reserve(counters.size());
  for (const auto& counter : counters) ranges.push_back(counter.range());
  return ranges;
}

Histogram histogram_of(const ValueRange& range, const std::vector<double>& values) {
  Histogram histogram(range.min, range.max);
  for (const double value : values) histogram.add(value);
  return histogram;
}

void add_episode_facts(const LoggedSteps& steps, DatasetReport& report) {
  std::vector<double> returns, lengths;
  RangeCounter reward_range, return_range, length_range;
  double sum = 0;
  int64_t length = 0;
  for (int64_t slot = 0; slot < steps.slots(); ++slot) {
    if (steps.is(slot, LoggedSteps::kObservationOnly)) continue;
    reward_range.add(steps.rewards[slot]);
    sum += steps.rewards[slot];
    ++length;
    if (!steps.ends(slot)) continue;
    returns.push_back(std::exchange(sum, 0.0));
    lengths.push_back(static_cast<double>(std::exchange(length, 0)));
    return_range.add(returns.back());
    length_range.add(lengths.back());
  }
  report.reward = reward_range.range();
  report.episode_return = return_range.range();
  report.episode_length = length_range.range();
  report.return_histogram = histogram_of(report.episode_return, returns);
  report.length_histogram = histogram_of(report.episode_length, lengths);
}

// Requires that `report` already contains the ranges of rewards and actions.
void add_step_histograms(const LoggedSteps& steps, const DatasetReadOptions& options,
                         DatasetReport& report) {
  report.reward_histogram = Histogram(report.reward.min, report.reward.max);
  for (const auto& range : report.actions) {
    if (steps.categories > 0) {
      report.action_histograms.emplace_back(0, static_cast<double>(steps.categories),
                                            static_cast<int>(steps.categories));
    } else {
      report.action_histograms.emplace_back(range.min, range.max);
    }
  }
  for (int64_t slot = 0; slot < steps.slots(); ++slot) {
    if (steps.is(slot, LoggedSteps::kObservationOnly)) continue;
    report.reward_histogram.add(steps.rewards[slot]);
    for (int64_t k = 0; k < steps.action_dim; ++k) {
      report.action_histograms[static_cast<size_t>(k)].add(
          action_of_file(options, k, steps.actions[slot * steps.action_dim + k]));
    }
  }
}

// Computes the part of the report that does not depend on transitions.
DatasetReport describe_steps(const LoggedSteps& steps, const std::string& kind,
                             const DatasetReadOptions& options) {
  DatasetReport report;
  report.kind = kind;
  report.file = summarize(steps);
  report.timeout_policy = timeout_policy_for(kind, options);
  report.choices = steps.categories;
  report.obs = column_ranges(steps, steps.obs_dim, [&](int64_t slot, int64_t k) -> double {
    return steps.obs[slot * steps.obs_dim + k];
  });
  report.actions = column_ranges(steps, steps.action_dim, [&](int64_t slot, int64_t k) {
    return action_of_file(options, k, steps.actions[slot * steps.action_dim + k]);
  });
  add_episode_facts(steps, report);
  add_step_histograms(steps, options, report);
  return report;
}

Json to_json(const Histogram& histogram) {
  return {{"low", json_number(histogram.low())},
          {"high", json_number(histogram.high())},
          {"counts", histogram.counts()}};
}

Json to_json(const std::vector<Histogram>& histograms) {
  Json all = Json::array();
  for (const auto& histogram : histograms) all.push_back(to_json(histogram));
  return all;
}

Json to_json(const ValueRange& range) {
  return {{"min", json_number(range.min)},
          {"max", json_number(range.max)},
          {"mean", json_number(range.mean)},
          {"std", json_number(range.std)}};
}

Json to_json(const std::vector<ValueRange>& ranges) {
  Json all = Json::array();
  for (const auto& range : ranges) all.push_back(to_json(range));
  return all;
}

}  // namespace

Json DatasetReport::to_json() const {
  Json found = Json::array();
  for (const auto& warning : warnings) {
    found.push_back({{"code", warning.code},
                     {"message", warning.message},
                     {"row", warning.row ? Json(*warning.row) : Json()}});
  }
  return {{"kind", kind},
          {"rows", file.rows},
          {"episodes", file.episodes},
          {"obs_dim", file.obs_dim},
          {"action_dim", file.action_dim},
          {"choices", choices > 0 ? Json(choices) : Json()},
          {"reward_sum", json_number(file.reward_sum)},
          {"terminals", file.terminals},
          {"timeouts", file.timeouts},
          {"return_mean", json_number(file.return_mean)},
          {"timeout_policy", timeout_policy == TimeoutPolicy::drop ? "drop" : "keep"},
          {"transitions", transitions},
          {"transitions_reward_sum", json_number(transitions_reward_sum)},
          {"transitions_terminals", transitions_terminals},
          {"has_next_observations", file.has_next_observations},
          {"has_timeouts", file.has_timeouts},
          {"has_next_actions", file.has_next_actions},
          {"fingerprint", fingerprint},
          {"observation_names", observation_names},
          {"action_names", action_names},
          {"observations", rl_training::to_json(obs)},
          {"actions", rl_training::to_json(actions)},
          {"rewards", rl_training::to_json(reward)},
          {"returns", rl_training::to_json(episode_return)},
          {"lengths", rl_training::to_json(episode_length)},
          {"histograms",
           {{"returns", rl_training::to_json(return_histogram)},
            {"lengths", rl_training::to_json(length_histogram)},
            {"rewards", rl_training::to_json(reward_histogram)},
            {"actions", rl_training::to_json(action_histograms)}}},
          {"warnings", found}};
}

std::vector<DatasetWarning> find_dataset_warnings(const LoggedSteps& steps, const std::string& kind,
                                                  const DatasetReadOptions& options) {
  auto report = describe_steps(steps, kind, options);
  report.transitions = report.file.rows;
  return check_dataset(steps, report, options, ActionUnits::of_training);
}

DatasetReport inspect_steps(const LoggedSteps& steps, const std::string& kind,
                            const DatasetReadOptions& options) {
  auto report = describe_steps(steps, kind, options);
  const auto data = make_transitions(steps, report.timeout_policy);
  report.transitions = data.rows();
  report.choices = steps.categories;
  report.observation_names = steps.observation_names;
  report.action_names = steps.action_names;
  report.file.dropped_rows = report.file.rows - data.rows();
  for (int64_t row = 0; row < data.rows(); ++row) {
    report.transitions_reward_sum += data.reward(row);
    report.transitions_terminals += data.terminated(row) ? 1 : 0;
  }
  report.fingerprint = data.fingerprint();
  report.warnings = check_dataset(steps, report, options,
                                  options.bounds ? ActionUnits::of_training : ActionUnits::unknown);
  return report;
}

DatasetReport inspect_dataset(const std::string& kind, const std::string& path,
                              const DatasetReadOptions& options) {
  const auto name = kind == "auto" ? detect_dataset_kind(path) : kind;
  return inspect_steps(read_logged_steps(name, path, options), name, options);
}

}  // namespace rl_training
