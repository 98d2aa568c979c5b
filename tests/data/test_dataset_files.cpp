#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "rl_training/data/dataset_file.h"
#include "rl_training/data/minari.h"
#include "rl_training/util/error.h"
#include "tests/data/fixture_paths.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

using nlohmann::json;

// Returns the expected properties of the fixtures, which the original libraries wrote. The sums
// were computed by NumPy and by D4RL's own conversion.
json expected() {
  std::ifstream file(kFixtures + "expected.json");
  return json::parse(file);
}

std::vector<double> column_sums(const Column<float>& values, int64_t dims, const LoggedSteps& steps,
                                bool every_slot = false) {
  std::vector<double> sums(static_cast<size_t>(dims), 0.0);
  for (int64_t slot = 0; slot < steps.slots(); ++slot) {
    if (!every_slot && steps.is(slot, LoggedSteps::kObservationOnly)) continue;
    for (int64_t k = 0; k < dims; ++k) sums[static_cast<size_t>(k)] += values[slot * dims + k];
  }
  return sums;
}

void expect_near(double value, const json& expected) {
  const auto wanted = expected.get<double>();
  EXPECT_NEAR(value, wanted, 1e-9 * std::max(1.0, std::abs(wanted)));
}

void check_valid_file(const std::string& path, const json& facts) {
  SCOPED_TRACE(path);
  const auto steps = read_logged_steps("auto", path);
  const auto summary = summarize(steps);
  EXPECT_EQ(summary.rows, facts["n"].get<int64_t>());
  expect_near(summary.reward_sum, facts["reward_sum"]);
  if (!facts.contains("obs_sum")) return;
  EXPECT_EQ(summary.obs_dim, facts["obs_dim"].get<int64_t>());
  EXPECT_EQ(summary.action_dim, facts["act_dim"].get<int64_t>());
  EXPECT_EQ(summary.terminals, facts["terminals"].get<int64_t>());
  EXPECT_EQ(summary.has_timeouts, !facts["timeouts"].is_null());
  if (!facts["timeouts"].is_null()) {
    EXPECT_EQ(summary.timeouts, facts["timeouts"].get<int64_t>());
  }
  EXPECT_EQ(summary.has_next_observations, facts["has_next"].get<bool>());
  const auto obs = column_sums(steps.obs, steps.obs_dim, steps);
  for (size_t k = 0; k < obs.size(); ++k) expect_near(obs[k], facts["obs_sum"][k]);
  const auto actions = column_sums(steps.actions, steps.action_dim, steps);
  for (size_t k = 0; k < actions.size(); ++k) expect_near(actions[k], facts["act_sum"][k]);
}

// Compares rows, rewards and successors with the result of D4RL's own conversion.
void check_q_learning(const std::string& path, const json& facts) {
  SCOPED_TRACE(path);
  DatasetReadOptions options;
  if (path.find("no_timeouts") != std::string::npos) options.episode_length = 200;
  const auto steps = read_logged_steps("d4rl", path, options);
  const auto data = make_transitions(steps, TimeoutPolicy::drop);
  ASSERT_EQ(data.rows(), facts["n"].get<int64_t>());
  double rewards = 0, next_obs = 0;
  int64_t terminals = 0;
  for (int64_t row = 0; row < data.rows(); ++row) {
    rewards += data.reward(row);
    for (int64_t k = 0; k < data.obs_dim(); ++k) next_obs += data.next_obs(row)[k];
    terminals += data.terminated(row) ? 1 : 0;
  }
  EXPECT_EQ(terminals, facts["terminals"].get<int64_t>());
  // The expected sum may come from a file with float64 rewards. Our rewards are float32, so the
  // tolerance allows for their rounding.
  EXPECT_NEAR(rewards, facts["reward_sum"].get<double>(), 2e-7 * std::abs(rewards) + 1e-9);
  EXPECT_NEAR(next_obs, facts["next_obs_sum"].get<double>(), 1e-9 * (10'000 + std::abs(next_obs)));
}

// Compares the dataset with D4RL's conversion, which this function implements row by row.
void check_row_for_row(const std::string& path) {
  SCOPED_TRACE(path);
  const auto steps = read_logged_steps("d4rl", path);
  const auto data = make_transitions(steps, TimeoutPolicy::drop).with_next_actions();
  int64_t row = 0;
  for (int64_t i = 0; i + 1 < steps.slots(); ++i) {
    if (steps.is(i, LoggedSteps::kTimeout)) continue;
    ASSERT_LT(row, data.rows());
    for (int64_t k = 0; k < data.obs_dim(); ++k) {
      ASSERT_EQ(data.obs(row)[k], steps.obs[i * data.obs_dim() + k]);
      ASSERT_EQ(data.next_obs(row)[k], steps.obs[(i + 1) * data.obs_dim() + k]);
    }
    const bool valid = !steps.is(i, LoggedSteps::kTerminal | LoggedSteps::kBreak);
    ASSERT_EQ(data.next_action_valid(row), valid) << row;
    for (int64_t k = 0; k < data.action_dim(); ++k) {
      ASSERT_EQ(data.action(row)[k], steps.actions[i * data.action_dim() + k]);
      ASSERT_EQ(data.next_action(row)[k],
                valid ? steps.actions[(i + 1) * data.action_dim() + k] : 0.0f);
    }
    ASSERT_EQ(data.reward(row), static_cast<float>(steps.rewards[i]));
    ASSERT_EQ(data.terminated(row), steps.is(i, LoggedSteps::kTerminal));
    ++row;
  }
  EXPECT_EQ(row, data.rows());
}

void check_minari(const std::string& directory, const json& facts) {
  SCOPED_TRACE(directory);
  EXPECT_EQ(detect_dataset_kind(directory), "minari");
  const auto steps = read_logged_steps("minari", directory);
  const auto summary = summarize(steps);
  EXPECT_EQ(summary.episodes, facts["episodes"].get<int64_t>());
  EXPECT_EQ(summary.rows, facts["steps"].get<int64_t>());
  EXPECT_EQ(summary.terminals, facts["terminations"].get<int64_t>());
  EXPECT_EQ(summary.timeouts, facts["truncations"].get<int64_t>());
  EXPECT_TRUE(summary.warnings.empty());
  expect_near(summary.reward_sum, facts["reward_sum"]);
  for (const auto& [key, values, dims] :
       {std::tuple("observations", &steps.obs, steps.obs_dim),
        std::tuple("actions", &steps.actions, steps.action_dim)}) {
    // The leaves of a nested space are listed in the order of its subspaces.
    const auto sums = column_sums(*values, dims, steps, true);
    size_t column = 0;
    for (const auto& [leaf, leaf_facts] : facts[key].items()) {
      size_t width = 1;
      for (const auto& dim : leaf_facts["shape"]) width *= dim.get<size_t>();
      double sum = 0;
      for (size_t k = 0; k < width; ++k) sum += sums.at(column + k);
      const auto wanted = leaf_facts["sum"].get<double>();
      EXPECT_NEAR(sum, wanted, 1e-9 * std::max(1.0, std::abs(wanted))) << leaf;
      column += width;
    }
    EXPECT_EQ(column, sums.size());
  }
  // Every step is usable, and no successor belongs to another episode.
  const auto data = make_transitions(steps, TimeoutPolicy::keep);
  EXPECT_EQ(data.rows(), summary.rows);
  EXPECT_EQ(static_cast<int64_t>(data.episodes().size()), summary.episodes);
  EXPECT_EQ(data.obs(0), steps.obs.data());  // not copied
}

TEST(DatasetFiles, RowsAndSums) {
  const auto files = expected().at("valid");
  EXPECT_EQ(files.size(), 17U);
  for (const auto& [name, facts] : files.items()) check_valid_file(kFixtures + name, facts);
}

TEST(DatasetFiles, MinariRowsAndSums) {
  const auto datasets = expected().at("minari");
  EXPECT_EQ(datasets.size(), 22U);
  for (const auto& [name, facts] : datasets.items()) check_minari(kFixtures + name, facts);
}

void check_conversions(const std::string& folder, const json& files) {
  for (const auto& [name, facts] : files.items()) {
    check_q_learning(folder + name, facts);
    check_row_for_row(folder + name);
  }
}

TEST(DatasetFiles, EqualsD4rlsConversion) {
  const auto facts = expected();
  EXPECT_EQ(facts.at("q_learning").size(), 9U);
  check_conversions(kFixtures, facts.at("q_learning"));
}

TEST(DatasetFiles, EqualsD4rlsConversionOfGenuineFiles) {
  const auto facts = expected();
  if (!std::filesystem::exists(kReal)) GTEST_SKIP() << "no genuine files at " << kReal;
  check_conversions(kReal, facts.at("q_learning_real"));
}

TEST(DatasetFiles, KeepsTimeoutsWithTheirTrueSuccessor) {
  const auto path = kFixtures + "d4rl/mountaincar_terminals.hdf5";
  DatasetReadOptions options;
  options.timeout_policy = TimeoutPolicy::keep;
  DatasetFileSummary summary;
  const auto data = load_dataset_file("d4rl", path, options, &summary);
  // The time-out policy `keep` retains the last row, which terminates. D4RL's conversion loses this
  // row.
  EXPECT_EQ(data.rows(), 644);
  EXPECT_EQ(summary.dropped_rows, 0);
  EXPECT_EQ(data.episodes().size(), 6u);
  EXPECT_EQ(load_dataset_file("d4rl", path).rows(), 643);
}

TEST(DatasetFiles, MinariIdsAreFoundBelowTheirRoot) {
  ASSERT_EQ(::setenv("MINARI_DATASETS_PATH", (kFixtures + "minari/v0.5.3").c_str(), 1), 0);
  EXPECT_EQ(find_minari_dataset("pendulum-time/dict-v0"),
            kFixtures + "minari/v0.5.3/pendulum-time/dict-v0");
  EXPECT_EQ(detect_dataset_kind("pendulum-time/dict-v0"), "minari");
  EXPECT_EQ(load_dataset_file("minari", "pendulum-time/dict-v0").rows(), 600);
  EXPECT_EQ(find_minari_dataset("pendulum-time/none-v0"), "");
  ::unsetenv("MINARI_DATASETS_PATH");
}

TEST(DatasetFiles, BoundsScaleActionsOfEveryKind) {
  const auto bounds = Space::box({-2}, {2}), wrong = Space::box({-1, -1}, {1, 1});
  DatasetReadOptions scaled, wrong_size;
  scaled.bounds = &bounds;
  wrong_size.bounds = &wrong;
  for (const auto& name : {"d4rl/pendulum_single_row.hdf5", "d3rlpy/pendulum_v2.h5",
                           "minari/v0.5.3/pendulum-time/dict-v0", "csv/steps.csv"}) {
    SCOPED_TRACE(name);
    const auto plain = read_logged_steps("auto", kFixtures + name);
    const auto half = read_logged_steps("auto", kFixtures + name, scaled);
    ASSERT_EQ(plain.actions.size(), half.actions.size());
    for (int64_t i = 0; i < plain.actions.size(); ++i) {
      ASSERT_EQ(half.actions[i], plain.actions[i] / 2);
    }
    EXPECT_THROW(read_logged_steps("auto", kFixtures + name, wrong_size), Error);
  }
}

}  // namespace
}  // namespace rl_training
