#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>

#include "rl_training/data/inspect.h"
#include "tests/data/fixture_paths.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

struct Log {
  std::vector<float> obs, actions;  // two columns of observations, one of actions
  std::vector<double> rewards;
  std::vector<uint8_t> marks;
};

// Returns episodes of ten steps that observe a slowly rotating unit vector. The data has no problem
// except the one that `change` introduces.
LoggedSteps steps_with(const std::function<void(Log&)>& change) {
  Log log;
  for (int i = 0; i < 80; ++i) {
    log.obs.push_back(std::sin(0.1f * static_cast<float>(i)));
    log.obs.push_back(std::cos(0.1f * static_cast<float>(i)));
    log.actions.push_back(0.01f * static_cast<float>(i % 7));
    log.rewards.push_back(0.1 * (i % 5));
    log.marks.push_back(i % 10 == 9 ? LoggedSteps::kTimeout : 0);
  }
  change(log);
  LoggedSteps steps;
  steps.obs_dim = 2;
  steps.action_dim = 1;
  steps.obs = Column<float>(log.obs);
  steps.actions = Column<float>(log.actions);
  steps.rewards = Column<double>(log.rewards);
  steps.marks = Column<uint8_t>(log.marks);
  steps.has_timeouts = true;
  return steps;
}

std::string codes(const LoggedSteps& steps, const DatasetReadOptions& options = {}) {
  std::string all;
  for (const auto& warning : inspect_steps(steps, "d4rl", options).warnings) {
    all += (all.empty() ? "" : " ") + warning.code;
    if (warning.row) all += ":" + std::to_string(*warning.row);
  }
  return all;
}

TEST(Inspect, FindsEachFaultAndNothingElse) {
  EXPECT_EQ(codes(steps_with([](Log&) {})), "");
  using Change = std::function<void(Log&)>;
  const std::vector<std::pair<std::string, Change>> faults = {
      {"cut_tail:79", [](Log& log) { log.marks[79] = 0; }},
      {"no_episode_end", [](Log& log) { log.marks.assign(80, 0); }},
      {"next_observation_mismatch:33", [](Log& log) { log.marks[33] = LoggedSteps::kBreak; }},
      {"constant_observation",
       [](Log& log) {
         for (size_t i = 0; i < 160; i += 2) log.obs[i] = 3;
       }},
      {"duplicate_observation",
       [](Log& log) {
         for (size_t i = 0; i < 160; i += 2) log.obs[i] = log.obs[i + 1];
       }},
      {"constant_action", [](Log& log) { log.actions.assign(80, 0.5f); }},
      {"", [](Log& log) { log.actions[7] = -5; }},  // valid, because no bounds are known
      {"not_finite:7", [](Log& log) { log.actions[7] = NAN; }},
      {"saturated_actions",
       [](Log& log) {
         for (size_t i = 0; i < 60; ++i) log.actions[i] = i % 2 == 0 ? 1.0f : -1.0f;
       }},
      {"jump:44",
       [](Log& log) {
         for (size_t i = 90; i < 100; ++i) log.obs[i] += 8;
       }},
      {"constant_reward", [](Log& log) { log.rewards.assign(80, 2); }},
      {"reward_scale",
       [](Log& log) {
         for (auto& reward : log.rewards) reward *= 10'000;
       }},
      {"reward_scale",
       [](Log& log) {
         for (auto& reward : log.rewards) reward *= 1e-4;
       }},
      {"terminal_at_time_limit",
       [](Log& log) {
         for (size_t i = 9; i < 80; i += 10) log.marks[i] = LoggedSteps::kTerminal;
       }},
  };
  for (const auto& [expected, change] : faults) {
    EXPECT_EQ(codes(steps_with(change)), expected);
  }
  const auto cluster = steps_with([](Log& log) {
    for (const size_t i : {29, 30, 31}) log.marks[i] = LoggedSteps::kTerminal;
  });
  EXPECT_EQ(codes(cluster), "terminal_cluster:30");
  auto unmarked = steps_with([](Log&) {});
  unmarked.has_timeouts = false;
  unmarked.marks = Column<uint8_t>(std::vector<uint8_t>(80, 0));
  EXPECT_EQ(codes(unmarked), "missing_timeouts no_episode_end");
  // The file contains successors, but the successors of time-outs are observations of the next
  // episode.
  auto borrowed = steps_with([](Log&) {});
  borrowed.successors = Column<float>(std::vector<float>{0, 0});
  EXPECT_EQ(codes(borrowed), "borrowed_successor:9");
}

TEST(Inspect, ActionsAreShownInTheUnitsOfTheirBounds) {
  const auto bounds = Space::box({-2}, {6});
  DatasetReadOptions options;
  options.bounds = &bounds;
  const auto report =
      inspect_steps(steps_with([](Log& log) { log.actions[7] = -5; }), "d4rl", options);
  EXPECT_NEAR(report.actions[0].min, -18, 1e-6);
  EXPECT_NEAR(report.actions[0].max, 2.24, 1e-6);
  EXPECT_NEAR(report.action_histograms[0].low(), -18, 1e-6);
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_EQ(report.warnings[0].text(),
            "action_out_of_bounds: 1 rows have actions beyond the bounds (column 0: -18, bounds -2 "
            "and 6) (row 7)");
  // Actions that training uses without scaling must be in [-1, 1].
  const auto training =
      find_dataset_warnings(steps_with([](Log& log) { log.actions[7] = -5; }), "d4rl", {});
  ASSERT_EQ(training.size(), 1u);
  EXPECT_EQ(training[0].text(),
            "action_out_of_bounds: 1 rows have actions beyond the bounds (column 0: -5, bounds -1 "
            "and 1) (row 7)");
}

TEST(Inspect, ReportsTheNumbersOfAFile) {
  const auto path = kFixtures + "d4rl/mountaincar_terminals.hdf5";
  const auto report = inspect_dataset("auto", path);
  const auto json = report.to_json();
  EXPECT_EQ(json["kind"], "d4rl");
  EXPECT_EQ(json["rows"], 644);
  EXPECT_EQ(json["episodes"], 6);
  EXPECT_EQ(json["obs_dim"], 2);
  EXPECT_EQ(json["action_dim"], 1);
  EXPECT_EQ(json["terminals"], 6);
  EXPECT_EQ(json["timeouts"], 0);
  EXPECT_NEAR(json["reward_sum"].get<double>(), 548.2344505861402, 1e-9);
  EXPECT_NEAR(json["return_mean"].get<double>(), 548.2344505861402 / 6, 1e-9);
  EXPECT_EQ(json["transitions"], 643);
  EXPECT_NEAR(json["transitions_reward_sum"].get<double>(), 448.30903554707766, 1e-9);
  EXPECT_EQ(json["has_next_observations"], true);
  EXPECT_EQ(json["timeout_policy"], "drop");
  EXPECT_EQ(json["fingerprint"], load_dataset_file("d4rl", path).fingerprint());
  EXPECT_NEAR(report.obs[0].mean, -0.47103464303781156, 1e-12);
  EXPECT_NEAR(report.obs[0].std, 0.38451760411399255, 1e-12);
  EXPECT_NEAR(report.episode_length.mean, 644.0 / 6, 1e-9);
  ASSERT_TRUE(json["warnings"].is_array());
  DatasetReadOptions keep;
  keep.timeout_policy = TimeoutPolicy::keep;
  EXPECT_EQ(inspect_dataset("auto", path, keep).transitions, 644);
  EXPECT_EQ(inspect_dataset("auto", kFixtures + "d4rl/pendulum_single_row.hdf5").transitions, 0);
}

int64_t row_of_warning(const DatasetReport& report, const std::string& code) {
  for (const auto& warning : report.warnings) {
    if (warning.code == code) return warning.row.value_or(-1);
  }
  return -2;
}

TEST(Inspect, KnowsTheTrapsOfMalformedFiles) {
  const auto bounds = Space::box({-2}, {2});
  DatasetReadOptions scaled;
  scaled.bounds = &bounds;
  const auto beyond =
      inspect_dataset("auto", kFixtures + "malformed/action_out_of_bounds.hdf5", scaled);
  EXPECT_EQ(row_of_warning(beyond, "action_out_of_bounds"), 7);
  const auto endless = inspect_dataset("auto", kFixtures + "malformed/no_episode_end.hdf5");
  EXPECT_EQ(row_of_warning(endless, "no_episode_end"), -1);
}

TEST(Inspect, KnowsTheTrapsOfGenuineFiles) {
  if (!std::filesystem::exists(kReal)) GTEST_SKIP() << "no genuine files at " << kReal;
  DatasetReadOptions keep;
  keep.timeout_policy = TimeoutPolicy::keep;
  const auto replay =
      inspect_dataset("auto", kReal + "pendulum/pendulum_replay_v1.1.0.converted.hdf5", keep);
  EXPECT_EQ(replay.file.rows, 99'500);
  EXPECT_EQ(replay.file.episodes, 500);
  EXPECT_GE(row_of_warning(replay, "borrowed_successor"), 0);
  const auto antmaze =
      inspect_dataset("auto", kReal + "d4rl_slices/antmaze-medium-diverse-v0.hdf5");
  EXPECT_EQ(row_of_warning(antmaze, "terminal_cluster"), 65);
}

}  // namespace
}  // namespace rl_training
