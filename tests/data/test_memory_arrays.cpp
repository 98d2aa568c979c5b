#include <gtest/gtest.h>

#include <cmath>

#include "rl_training/data/dataset_file.h"
#include "rl_training/data/memory_arrays.h"
#include "rl_training/data/minari_writer.h"
#include "rl_training/data/npz.h"
#include "rl_training/util/error.h"
#include "tests/data/small_dataset.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

// Returns small_dataset() as arrays of type T in memory.
template <class T>
MemoryArrays small_arrays() {
  MemoryArrays arrays;
  arrays.add("observations", {5, 2}, Column<T>({100, 0, 100, 1, 100, 2, 200, 0, 200, 1}));
  arrays.add("next_observations", {5, 2}, Column<T>({100, 1, 100, 2, 100, 3, 200, 1, 200, 2}));
  arrays.add("actions", {5, 1}, Column<T>({T(0.0f), T(0.1f), T(0.2f), T(0.3f), T(0.4f)}));
  arrays.add("rewards", {5}, Column<int64_t>({1, 2, 3, 4, 5}));
  arrays.add("terminals", {5}, Column<uint8_t>({0, 0, 1, 0, 0}));
  arrays.add("timeouts", {5}, Column<int32_t>({0, 0, 0, 0, 1}));
  return arrays;
}

TEST(MemoryArrays, AreTheDatasetOfAFileWithTheSameArrays) {
  const TemporaryDirectory directory;
  const auto path = directory / "small.npz";
  save_npz_dataset(small_dataset(), path);
  DatasetFileSummary summary;
  const auto file = load_npz_dataset(path, nullptr, &summary);
  for (const auto& arrays : {small_arrays<float>(), small_arrays<double>()}) {
    const auto found = arrays.transitions({});
    EXPECT_EQ(found.dataset.fingerprint(), file.fingerprint());
    EXPECT_EQ(found.dataset.rows(), 5);
    EXPECT_EQ(found.summary.terminals, summary.terminals);
    EXPECT_EQ(found.summary.reward_sum, 15);
    EXPECT_EQ(arrays.steps({}).slots(), 5);
  }
}

// The last observation of an episode is not in the array of observations.
TEST(MemoryArrays, SaveTheirLastObservationsAsMinariData) {
  const TemporaryDirectory directory;
  const auto path = directory / "small-v0";
  const auto dataset = small_arrays<float>().transitions({}).dataset;
  save_minari_dataset(dataset, path);
  EXPECT_EQ(load_dataset_file("minari", path).fingerprint(), small_dataset().fingerprint());
}

TEST(MemoryArrays, FloatsAreUsedWhereTheyLie) {
  const Column<float> obs({100, 0, 100, 1, 100, 2, 200, 0, 200, 1});
  const Column<float> actions({0.0f, 0.1f, 0.2f, 0.3f, 0.4f});
  auto arrays = small_arrays<float>();
  arrays.add("observations", {5, 2}, obs);
  arrays.add("actions", {5, 1}, actions);
  const auto lent = arrays.transitions({}).dataset,
             copied = small_arrays<double>().transitions({}).dataset;
  ASSERT_EQ(lent.rows(), 5);
  for (int64_t row = 0; row < 5; ++row) {
    EXPECT_EQ(lent.obs(row), obs.data() + 2 * row);
    EXPECT_EQ(lent.action(row), actions.data() + row);
    for (int64_t k = 0; k < 2; ++k) EXPECT_EQ(lent.next_obs(row)[k], copied.next_obs(row)[k]);
  }
  EXPECT_EQ(lent.next_obs(0), obs.data() + 2);
  EXPECT_EQ(lent.next_obs(2)[1], 3);  // not in `obs`: row 3 belongs to another episode
  EXPECT_EQ(lent.next_obs(4)[1], 2);
  const std::vector<int64_t> second = {1};
  EXPECT_EQ(lent.with_episodes(second).next_obs(1)[0], 200);
  EXPECT_EQ(lent.with_episodes(second).fingerprint(), copied.with_episodes(second).fingerprint());
}

TEST(MemoryArrays, ATerminalRowWithoutASuccessorStandsForItself) {
  MemoryArrays plain;
  plain.add("observations", {3, 1}, Column<float>({1, 2, 3}));
  plain.add("actions", {3, 1}, Column<float>({0.5f, 0, 0}));
  plain.add("rewards", {3}, Column<float>({1, 1, 1}));
  plain.add("terminals", {3}, Column<uint8_t>({0, 1, 0}));
  const auto rows = plain.transitions({}).dataset;
  ASSERT_EQ(rows.rows(), 2);  // the last row is dropped, because its successor is unknown
  EXPECT_EQ(rows.next_obs(0)[0], 2);
  EXPECT_EQ(rows.next_obs(1)[0], 2);
}

TEST(MemoryArrays, ActionsAreScaledFromTheirUnits) {
  const Space bounds = Space::box({-0.4}, {0.4});
  DatasetReadOptions options;
  options.bounds = &bounds;
  const auto found = small_arrays<float>().transitions(options);
  EXPECT_FLOAT_EQ(found.dataset.action(1)[0], 0.25f);
  EXPECT_FLOAT_EQ(found.dataset.action(4)[0], 1.0f);
}

TEST(MemoryArrays, WrongValuesAreNamed) {
  const auto message_of = [](const MemoryArrays& arrays) {
    try {
      arrays.transitions({});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  auto arrays = small_arrays<float>();
  arrays.add("rewards", {5}, Column<double>({1, 2, NAN, 4, 5}));
  EXPECT_EQ(message_of(arrays), "arrays: rewards: row 2, column 0 is not a finite float (got nan)");
  arrays = small_arrays<float>();
  arrays.add("terminals", {5}, Column<int64_t>({0, 0, 0, 2, 0}));
  EXPECT_EQ(message_of(arrays), "arrays: terminals: row 3 is not a flag (expected 0 or 1, got 2)");
  arrays = small_arrays<float>();
  arrays.add("rewards", {4}, Column<double>({1, 2, 3, 4}));
  EXPECT_NE(message_of(arrays).find("arrays: rewards: "), std::string::npos);
}

}  // namespace
}  // namespace rl_training
