#include "rl_training/data/inspect.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rl_training/data/dataset_checks.h"

namespace rl_training {
namespace {

// Mean and variance value by value (Welford), which does not overflow on large ones.
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

std::vector<ValueRange> column_ranges(const LoggedSteps& steps, const Column<float>& values,
                                      int64_t dims) {
  std::vector<RangeCounter> counters(static_cast<size_t>(dims));
  for (int64_t slot = 0; slot < steps.slots(); ++slot) {
    if (steps.is(slot, LoggedSteps::kObservationOnly)) continue;
    for (int64_t k = 0; k < dims; ++k)
      counters[static_cast<size_t>(k)].add(values[slot * dims + k]);
  }
  std::vector<ValueRange> ranges;
  for (const auto& counter : counters) ranges.push_back(counter.range());
  return ranges;
}

void add_episode_facts(const LoggedSteps& steps, DatasetReport& report) {
  RangeCounter rewards, returns, lengths;
  double sum = 0;
  int64_t length = 0;
  for (int64_t slot = 0; slot < steps.slots(); ++slot) {
    if (steps.is(slot, LoggedSteps::kObservationOnly)) continue;
    rewards.add(steps.rewards[slot]);
    sum += steps.rewards[slot];
    ++length;
    if (!steps.ends(slot)) continue;
    returns.add(std::exchange(sum, 0.0));
    lengths.add(static_cast<double>(std::exchange(length, 0)));
  }
  report.reward = rewards.range();
  report.episode_return = returns.range();
  report.episode_length = lengths.range();
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
          {"reward_sum", json_number(file.reward_sum)},
          {"terminals", file.terminals},
          {"timeouts", file.timeouts},
          {"return_mean", json_number(file.return_mean)},
          {"timeout_policy", timeout_policy == TimeoutPolicy::drop ? "drop" : "keep"},
          {"transitions", transitions},
          {"transitions_reward_sum", json_number(transitions_reward_sum)},
          {"has_next_observations", file.has_next_observations},
          {"has_timeouts", file.has_timeouts},
          {"has_next_actions", file.has_next_actions},
          {"fingerprint", fingerprint},
          {"observations", rl_training::to_json(obs)},
          {"actions", rl_training::to_json(actions)},
          {"rewards", rl_training::to_json(reward)},
          {"returns", rl_training::to_json(episode_return)},
          {"lengths", rl_training::to_json(episode_length)},
          {"warnings", found}};
}

DatasetReport inspect_steps(const LoggedSteps& steps, const std::string& kind,
                            const DatasetReadOptions& options) {
  DatasetReport report;
  report.kind = kind;
  report.file = summarize(steps);
  report.timeout_policy = timeout_policy_for(kind, options);
  const auto data = make_transitions(steps, report.timeout_policy);
  report.transitions = data.rows();
  report.file.dropped_rows = report.file.rows - data.rows();
  for (int64_t row = 0; row < data.rows(); ++row) report.transitions_reward_sum += data.reward(row);
  report.fingerprint = data.fingerprint();
  report.obs = column_ranges(steps, steps.obs, steps.obs_dim);
  report.actions = column_ranges(steps, steps.actions, steps.action_dim);
  add_episode_facts(steps, report);
  report.warnings = check_dataset(steps, report, options);
  return report;
}

DatasetReport inspect_dataset(const std::string& kind, const std::string& path,
                              const DatasetReadOptions& options) {
  const auto name = kind == "auto" ? detect_dataset_kind(path) : kind;
  return inspect_steps(read_logged_steps(name, path, options), name, options);
}

}  // namespace rl_training
