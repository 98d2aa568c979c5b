#include "rl_training/data/dataset_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "rl_training/util/text.h"

namespace rl_training {
namespace {

// Thresholds of the warnings. A jump is an unusually large change between two observations.
constexpr double kSaturatedShare = 0.5;  // fraction of the actions at a bound, per dimension
constexpr double kJumpFactor = 30;       // a jump is more than this many times the median change
constexpr double kJumpDeviations = 3;    // a jump also exceeds this many standard deviations
constexpr double kHugeValue = 1e6;
constexpr double kLargeReward = 100, kSmallReward = 1e-3;  // bounds of the mean absolute reward
constexpr int64_t kEqualLengths = 5;  // fewest episodes for a warning about equal lengths

class Checks {
 public:
  Checks(const LoggedSteps& steps, const DatasetReport& report, const DatasetReadOptions& options,
         ActionUnits units)
      : steps_(steps), report_(report), options_(options), units_(units), found_(steps.warnings) {}

  std::vector<DatasetWarning> run() && {
    number_rows();
    check_ends();
    check_successors();
    check_terminals();
    check_columns();
    check_finite_values();
    report_.choices > 0 ? check_choices() : check_actions();
    check_jumps();
    check_rewards();
    if (report_.transitions == 0) {
      add("no_transitions", "no row has a successor, so there is nothing to learn from");
    }
    return std::move(found_);
  }

 private:
  void add(const std::string& code, const std::string& message,
           std::optional<int64_t> row = std::nullopt) {
    found_.push_back({code, message, row});
  }

  // The number of rows with the same problem, and the first of these rows.
  struct Cases {
    int64_t count = 0;
    std::optional<int64_t> first;
    void add(int64_t row) {
      if (count++ == 0) first = row;
    }
  };

  bool is_step(int64_t slot) const { return !steps_.is(slot, LoggedSteps::kObservationOnly); }

  void number_rows() {
    int64_t row = 0;
    for (int64_t slot = 0; slot < steps_.slots(); ++slot) {
      rows_.push_back(row);
      if (is_step(slot)) ++row;
    }
  }

  void check_ends() {
    const auto& file = report_.file;
    for (int64_t slot = 0; slot < steps_.slots(); ++slot) {
      if (steps_.is(slot, LoggedSteps::kLast))
        return;  // the file marks last steps, so it needs no time-out flags
    }
    if (!file.has_timeouts && file.timeouts == 0) {
      add("missing_timeouts",
          "the file does not mark time-outs: an episode cut by the time limit looks like "
          "one that continues (env_kwargs.max_episode_steps of a config states the limit)");
    }
    const int64_t last = steps_.slots() - 1;
    const uint8_t flags = LoggedSteps::kTerminal | LoggedSteps::kTimeout;
    if (file.terminals + file.timeouts == 0) {
      add("no_episode_end", "no row is marked as the end of an episode");
    } else if (is_step(last) && !steps_.is(last, flags)) {
      add("cut_tail", "the last episode ends without a flag", rows_[static_cast<size_t>(last)]);
    }
  }

  void check_successors() {
    Cases breaks, borrowed;
    for (int64_t slot = 0; slot + 1 < steps_.slots(); ++slot) {
      const int64_t row = rows_[static_cast<size_t>(slot)];
      if (steps_.is(slot, LoggedSteps::kBreak)) breaks.add(row);
      if (steps_.successors.size() > 0 && steps_.is(slot, LoggedSteps::kTimeout) &&
          !steps_.is(slot, LoggedSteps::kTerminal | LoggedSteps::kOwnSuccessor)) {
        borrowed.add(row);
      }
    }
    if (breaks.count > 0) {
      add("next_observation_mismatch",
          fmt::format("{} rows have no end flag, yet their next observation is not the following "
                      "one{}",
                      breaks.count,
                      report_.timeout_policy == TimeoutPolicy::drop
                          ? "; timeout_policy drop turns them into wrong transitions, keep does not"
                          : ""),
          breaks.first);
    }
    if (borrowed.count > 0) {
      add("borrowed_successor",
          fmt::format("{} time-outs have the first observation of the next episode as their next "
                      "observation; it is not used",
                      borrowed.count),
          borrowed.first);
    }
  }

  void check_terminals() {
    Cases clusters, single_steps;
    int64_t length = 0, terminal_episodes = 0, longest = 0, shortest = INT64_MAX;
    bool after_terminal = false;
    for (int64_t slot = 0; slot < steps_.slots(); ++slot) {
      if (!is_step(slot)) continue;
      ++length;
      if (!steps_.ends(slot)) continue;
      const bool terminal = steps_.is(slot, LoggedSteps::kTerminal);
      if (terminal) {
        ++terminal_episodes;
        longest = std::max(longest, length);
        shortest = std::min(shortest, length);
      }
      if (length == 1) {
        (terminal && after_terminal ? clusters : single_steps)
            .add(rows_[static_cast<size_t>(slot)]);
      }
      after_terminal = terminal;
      length = 0;
    }
    if (clusters.count > 0) {
      add("terminal_cluster", fmt::format("{} terminal rows follow a terminal row", clusters.count),
          clusters.first);
    }
    if (single_steps.count > 0) {
      add("one_step_episodes", fmt::format("{} episodes have one step", single_steps.count),
          single_steps.first);
    }
    if (terminal_episodes >= kEqualLengths && longest == shortest && longest > 1 &&
        terminal_episodes == report_.file.episodes) {
      add("terminal_at_time_limit", fmt::format("all {} episodes terminate after exactly {} steps: "
                                                "are time-outs marked as terminations?",
                                                terminal_episodes, longest));
    }
  }

  // Hash of the bits of a column, to find equal columns.
  static uint64_t column_hash(const LoggedSteps& steps, const Column<float>& values, int64_t dims,
                              int64_t k) {
    uint64_t hash = 14695981039346656037u;
    for (int64_t slot = 0; slot < steps.slots(); ++slot) {
      uint32_t bits = 0;
      std::memcpy(&bits, values.data() + slot * dims + k, sizeof bits);
      hash = (hash ^ bits) * 1099511628211u;
    }
    return hash;
  }

  static std::string list(const std::vector<std::string>& parts) {
    if (parts.size() <= 20) return join(parts, ", ");
    return join({parts.begin(), parts.begin() + 20}, ", ") +
           fmt::format(" and {} more", parts.size() - 20);
  }

  void check_columns() {
    if (report_.file.rows < 2) return;
    std::vector<std::string> constant, duplicate, huge, constant_actions;
    std::unordered_map<uint64_t, int64_t> seen;
    for (int64_t k = 0; k < steps_.obs_dim; ++k) {
      const auto& range = report_.obs[static_cast<size_t>(k)];
      if (range.min == range.max) {
        constant.push_back(std::to_string(k));
        continue;
      }
      if (std::max(-range.min, range.max) > kHugeValue) huge.push_back(std::to_string(k));
      const auto [entry, fresh] =
          seen.emplace(column_hash(steps_, steps_.obs, steps_.obs_dim, k), k);
      if (!fresh) duplicate.push_back(fmt::format("{} = {}", k, entry->second));
    }
    for (int64_t k = 0; k < steps_.action_dim; ++k) {
      const auto& range = report_.actions[static_cast<size_t>(k)];
      if (range.min == range.max) constant_actions.push_back(std::to_string(k));
    }
    if (!constant.empty()) {
      add("constant_observation", "observation columns that never change: " + list(constant));
    }
    if (!duplicate.empty()) {
      add("duplicate_observation", "equal observation columns: " + list(duplicate));
    }
    if (!huge.empty()) add("huge_observation", "values beyond 1e6 in columns " + list(huge));
    if (!constant_actions.empty()) {
      add("constant_action", "action columns that never change: " + list(constant_actions));
    }
  }

  void check_finite_values() {
    const auto all_finite = [](const Column<float>& values, int64_t dims, int64_t slot) {
      const auto row =
          values.span().subspan(static_cast<size_t>(slot * dims), static_cast<size_t>(dims));
      return std::all_of(row.begin(), row.end(), [](float value) { return std::isfinite(value); });
    };
    Cases odd;
    for (int64_t slot = 0; slot < steps_.slots(); ++slot) {
      const bool fine = all_finite(steps_.obs, steps_.obs_dim, slot) &&
                        all_finite(steps_.actions, steps_.action_dim, slot) &&
                        std::isfinite(steps_.rewards[slot]);
      if (!fine) odd.add(rows_[static_cast<size_t>(slot)]);
    }
    if (odd.count == 0) return;
    add("not_finite",
        fmt::format("{} rows contain NaN or infinity, from which nothing can be learnt: remove "
                    "them or fill in values",
                    odd.count),
        odd.first);
  }

  void check_choices() {
    const auto& counts = report_.action_histograms.at(0).counts();
    std::vector<std::string> never;
    for (size_t choice = 0; choice < counts.size(); ++choice) {
      if (counts[choice] == 0) never.push_back(std::to_string(choice));
    }
    if (!never.empty()) add("unused_choices", "actions that never occur: " + list(never));
  }

  void check_actions() {
    Cases beyond;
    std::string example;
    std::vector<int64_t> saturated(static_cast<size_t>(steps_.action_dim), 0);
    for (int64_t slot = 0; slot < steps_.slots(); ++slot) {
      if (!is_step(slot)) continue;
      bool outside = false;
      for (int64_t k = 0; k < steps_.action_dim; ++k) {
        const double value = steps_.actions[slot * steps_.action_dim + k];
        if (std::abs(value) >= 0.999) ++saturated[static_cast<size_t>(k)];
        if (std::abs(value) <= 1 + 1e-5 || outside) continue;
        outside = true;
        if (beyond.count == 0) example = shown_action(k, value);
      }
      if (outside) beyond.add(rows_[static_cast<size_t>(slot)]);
    }
    if (beyond.count > 0) {
      if (units_ == ActionUnits::unknown) return;
      add("action_out_of_bounds",
          fmt::format("{} rows have actions beyond the bounds ({})", beyond.count, example),
          beyond.first);
      return;
    }
    std::vector<std::string> columns;
    for (size_t k = 0; k < saturated.size(); ++k) {
      const double share =
          static_cast<double>(saturated[k]) / static_cast<double>(report_.file.rows);
      if (share > kSaturatedShare) columns.push_back(fmt::format("{} ({:.0f} %)", k, 100 * share));
    }
    if (!columns.empty()) {
      add("saturated_actions", "actions mostly at their bounds in columns " + list(columns));
    }
  }

  std::string shown_action(int64_t k, double value) const {
    if (!options_.bounds) return fmt::format("column {}: {:g}, bounds -1 and 1", k, value);
    const auto index = static_cast<size_t>(k);
    return fmt::format("column {}: {:g}, bounds {:g} and {:g}", k,
                       options_.bounds->from_unit(k, value), options_.bounds->low[index],
                       options_.bounds->high[index]);
  }

  // Distance between the observations of this slot and the next: the root mean square of the
  // changes of all columns. Each change is divided by the standard deviation of its column.
  double step_size(int64_t slot) const {
    double sum = 0;
    for (int64_t k = 0; k < steps_.obs_dim; ++k) {
      const double deviation = report_.obs[static_cast<size_t>(k)].std;
      if (!(deviation > 0)) continue;
      const double move = (steps_.obs[(slot + 1) * steps_.obs_dim + k] -
                           static_cast<double>(steps_.obs[slot * steps_.obs_dim + k])) /
                          deviation;
      sum += move * move;
    }
    return std::sqrt(sum / static_cast<double>(steps_.obs_dim));
  }

  void check_jumps() {
    std::vector<std::pair<int64_t, double>> moves;
    for (int64_t slot = 0; slot + 1 < steps_.slots(); ++slot) {
      if (is_step(slot) && !steps_.ends(slot)) moves.emplace_back(slot, step_size(slot));
    }
    if (moves.size() < 10) return;
    auto sorted = moves;
    const auto middle = sorted.begin() + static_cast<int64_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end(),
                     [](const auto& a, const auto& b) { return a.second < b.second; });
    const double limit = std::max(kJumpFactor * middle->second, kJumpDeviations);
    Cases jumps;
    for (const auto& [slot, move] : moves) {
      if (move > limit) jumps.add(rows_[static_cast<size_t>(slot)]);
    }
    if (jumps.count > 0) {
      add("jump",
          fmt::format("{} steps inside episodes move the observation more than {:g} times as far "
                      "as usual: is an episode end not marked?",
                      jumps.count, kJumpFactor),
          jumps.first);
    }
  }

  void check_rewards() {
    const auto& reward = report_.reward;
    if (report_.file.rows > 1 && reward.min == reward.max) {
      add("constant_reward", fmt::format("every reward is {:g}", reward.min));
      return;
    }
    double size = 0;
    for (int64_t slot = 0; slot < steps_.slots(); ++slot) size += std::abs(steps_.rewards[slot]);
    size /= static_cast<double>(std::max<int64_t>(report_.file.rows, 1));
    const bool sparse = reward.min >= -1 && reward.max >= 0.5 && reward.max <= 1;
    if (size > kLargeReward || (size < kSmallReward && !sparse)) {
      add("reward_scale",
          fmt::format("the mean absolute reward is {:g}: consider reward_scale", size));
    }
  }

  const LoggedSteps& steps_;
  const DatasetReport& report_;
  const DatasetReadOptions& options_;
  ActionUnits units_;
  std::vector<DatasetWarning> found_;
  std::vector<int64_t> rows_;  // row number of each slot
};

}  // namespace

std::vector<DatasetWarning> check_dataset(const LoggedSteps& steps, const DatasetReport& report,
                                          const DatasetReadOptions& options, ActionUnits units) {
  return Checks(steps, report, options, units).run();
}

}  // namespace rl_training
