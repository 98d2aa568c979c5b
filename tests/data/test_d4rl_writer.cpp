#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "rl_training/data/d4rl.h"
#include "rl_training/data/dataset_builder.h"
#include "rl_training/data/dataset_file.h"
#include "rl_training/data/flat_arrays.h"
#include "rl_training/data/hdf5_file.h"
#include "rl_training/data/inspect.h"
#include "rl_training/data/minari_writer.h"
#include "rl_training/data/npz.h"
#include "rl_training/util/error.h"
#include "tests/data/fixture_paths.h"
#include "tests/data/small_dataset.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

TEST(D4rlWriter, RoundTripKeepsTheFingerprint) {
  const TemporaryDirectory directory;
  auto given = small_builder();
  given.give_next_actions(std::vector<float>{5, 6, 7, 8, 9}, {1, 0, 1, 1, 1});
  auto unflagged = small_builder();
  unflagged.begin_episode(std::array{7.0f, 7.0f});
  unflagged.add(std::array{0.0f}, 1, std::array{8.0f, 8.0f}, false, false);
  // This episode starts at the observation at which the previous episode ended.
  unflagged.begin_episode(std::array{8.0f, 8.0f});
  unflagged.add(std::array{0.0f}, 1, std::array{9.0f, -0.0f}, false, true);
  unflagged.begin_episode(std::array{9.0f, -0.0f});
  unflagged.add(std::array{0.0f}, 1, std::array{9.0f, 1.0f}, false, true);
  const std::vector<TransitionDataset> datasets = {
      small_dataset(), small_dataset().with_next_actions(), std::move(given).build(),
      std::move(unflagged).build()};
  DatasetReadOptions keep;
  keep.timeout_policy = TimeoutPolicy::keep;
  for (const auto& dataset : datasets) {
    const auto path = directory / "round.hdf5";
    save_d4rl_dataset(dataset, path);
    const auto first = read_all(path);
    EXPECT_EQ(detect_dataset_kind(path), "d4rl");
    const auto loaded = load_dataset_file("d4rl", path, keep);
    EXPECT_EQ(loaded.fingerprint(), dataset.fingerprint());
    EXPECT_EQ(loaded.has_next_actions(), dataset.has_next_actions());
    save_d4rl_dataset(loaded, path);
    EXPECT_EQ(read_all(path), first);  // the file contains no time stamps
  }
}

// The result of D4RL's qlearning_dataset. In this conversion, the successor of row i is row i + 1,
// rows with timeouts are skipped, and the last row is lost.
struct Conversion {
  int64_t rows = 0, terminals = 0;
  double reward_sum = 0, next_obs_sum = 0;
  std::vector<float> obs, actions, rewards, next_obs;
  std::vector<bool> done;
};

Conversion q_learning_conversion(const std::string& path) {
  Hdf5File file(path);
  const auto obs = file.read_floats("observations"), actions = file.read_floats("actions");
  const auto rewards = file.read_floats("rewards"), terminals = file.read_floats("terminals");
  const auto timeouts = file.read_floats("timeouts");
  const size_t n = rewards.size(), obs_dim = obs.size() / n, action_dim = actions.size() / n;
  Conversion made;
  const auto copy = [](std::vector<float>& to, const std::vector<float>& from, size_t row,
                       size_t dims) {
    const auto at = from.begin() + static_cast<std::ptrdiff_t>(row * dims);
    to.insert(to.end(), at, at + static_cast<std::ptrdiff_t>(dims));
  };
  for (size_t i = 0; i + 1 < n; ++i) {
    if (timeouts[i] != 0) continue;
    ++made.rows;
    copy(made.obs, obs, i, obs_dim);
    copy(made.actions, actions, i, action_dim);
    copy(made.rewards, rewards, i, 1);
    copy(made.next_obs, obs, i + 1, obs_dim);
    made.done.push_back(terminals[i] != 0);
    made.terminals += terminals[i] != 0 ? 1 : 0;
    made.reward_sum += rewards[i];
    for (size_t k = 0; k < obs_dim; ++k) made.next_obs_sum += obs[(i + 1) * obs_dim + k];
  }
  return made;
}

void expect_conversion_is(const std::string& path, const TransitionDataset& dataset) {
  const auto made = q_learning_conversion(path);
  ASSERT_EQ(made.rows, dataset.rows()) << path;
  for (int64_t row = 0; row < dataset.rows(); ++row) {
    const auto i = static_cast<size_t>(row);
    ASSERT_EQ(made.done[i], dataset.terminated(row)) << path << " row " << row;
    ASSERT_EQ(made.rewards[i], dataset.reward(row)) << path << " row " << row;
    const auto equal = [&](const std::vector<float>& all, const float* own, int64_t dims) {
      return std::equal(own, own + dims, all.data() + row * dims);
    };
    ASSERT_TRUE(equal(made.obs, dataset.obs(row), dataset.obs_dim())) << path << " row " << row;
    ASSERT_TRUE(equal(made.actions, dataset.action(row), dataset.action_dim())) << path;
    // Training does not use the successor of a terminal row.
    if (dataset.terminated(row)) continue;
    ASSERT_TRUE(equal(made.next_obs, dataset.next_obs(row), dataset.obs_dim()))
        << path << " row " << row;
  }
}

TEST(D4rlWriter, TheLastObservationOfAnEpisodeIsARowOfItsOwn) {
  const TemporaryDirectory directory;
  const auto path = directory / "small.hdf5";
  save_d4rl_dataset(small_dataset(), path);
  Hdf5File file(path);
  EXPECT_EQ(file.read_floats("observations"),
            (std::vector<float>{100, 0, 100, 1, 100, 2, 200, 0, 200, 1, 200, 2}));
  EXPECT_EQ(file.read_floats("next_observations"),
            (std::vector<float>{100, 1, 100, 2, 100, 3, 200, 1, 200, 2, 200, 2}));
  EXPECT_EQ(file.read_floats("rewards"), (std::vector<float>{1, 2, 3, 4, 5, 0}));
  EXPECT_EQ(file.read_floats("terminals"), (std::vector<float>{0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(file.read_floats("timeouts"), (std::vector<float>{0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(file.read_floats("truncations"), (std::vector<float>{0, 0, 0, 0, 1, 0}));
}

// Returns the paths of files in D4RL's layout: our fixtures and, if they exist, files from D4RL
// itself.
std::vector<std::string> d4rl_files() {
  std::vector<std::string> files;
  for (const auto& folder : {kFixtures + "d4rl", kReal + "d4rl_slices"}) {
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const auto path = entry.path().string();
      const bool dataset = path.ends_with(".hdf5") && !path.ends_with("single_row.hdf5") &&
                           !path.ends_with("large_chunks.hdf5");
      if (dataset) files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(D4rlWriter, TheQLearningConversionOfTheFileIsTheDataset) {
  const TemporaryDirectory directory;
  const auto path = directory / "again.hdf5";
  expect_conversion_is((save_d4rl_dataset(small_dataset(), path), path), small_dataset());
  for (const auto& original : d4rl_files()) {
    for (const auto policy : {TimeoutPolicy::drop, TimeoutPolicy::keep}) {
      DatasetReadOptions read;
      read.timeout_policy = policy;
      const auto dataset = load_dataset_file("d4rl", original, read);
      save_d4rl_dataset(dataset, path);
      expect_conversion_is(path, dataset);
      if (HasFatalFailure()) return;
      // Our own reader returns the same transitions with both time-out policies.
      for (const auto again : {TimeoutPolicy::drop, TimeoutPolicy::keep}) {
        read.timeout_policy = again;
        const auto report = inspect_dataset("auto", path, read);
        EXPECT_EQ(report.transitions, dataset.rows()) << original;
        EXPECT_EQ(report.transitions_terminals, q_learning_conversion(path).terminals) << original;
        EXPECT_EQ(report.fingerprint, with_known_next_actions(dataset).fingerprint()) << original;
      }
    }
  }
}

// Reads the datasets of `folder`, writes them again, and applies D4RL's conversion to the new
// files. Compares the results with the sums that D4RL's own code computed for the original files.
// Returns the number of compared files.
int compare_conversions(const std::string& folder, const Json& expected) {
  const TemporaryDirectory directory;
  int compared = 0;
  for (const auto& [name, sums] : expected.items()) {
    if (sums.at("n") == 0) continue;
    DatasetReadOptions drop;
    drop.timeout_policy = TimeoutPolicy::drop;
    const auto dataset = load_dataset_file("d4rl", folder + name, drop);
    // If a file has no array `timeouts`, D4RL ends episodes by counting steps, so the number of
    // rows may differ.
    if (dataset.rows() != sums.at("n").get<int64_t>()) continue;
    save_d4rl_dataset(dataset, directory / "again.hdf5");
    const auto made = q_learning_conversion(directory / "again.hdf5");
    EXPECT_EQ(made.rows, sums.at("n").get<int64_t>()) << name;
    EXPECT_EQ(made.terminals, sums.at("terminals").get<int64_t>()) << name;
    const double reward_sum = sums.at("reward_sum").get<double>();
    EXPECT_NEAR(made.reward_sum, reward_sum, 1e-5 * (1 + std::abs(reward_sum))) << name;
    ++compared;
  }
  return compared;
}

TEST(D4rlWriter, TheConversionOfConvertedFilesGivesTheSumsOfTheOriginals) {
  const auto expected = Json::parse(read_all(kFixtures + "expected.json"));
  EXPECT_EQ(compare_conversions(kFixtures, expected.at("q_learning")), 7);
}

TEST(D4rlWriter, TheConversionOfGenuineFilesGivesTheirSums) {
  const auto expected = Json::parse(read_all(kFixtures + "expected.json"));
  if (!std::filesystem::exists(kReal)) GTEST_SKIP() << "no genuine files at " << kReal;
  EXPECT_EQ(compare_conversions(kReal, expected.at("q_learning_real")), 12);
}

TEST(D4rlWriter, NothingIsLostOnTheWayThroughMinari) {
  const TemporaryDirectory directory;
  int number = 0;
  for (const auto& original : d4rl_files()) {
    DatasetReadOptions keep;
    keep.timeout_policy = TimeoutPolicy::keep;
    const auto first = load_dataset_file("d4rl", original, keep);
    const auto minari = directory / ("through-v" + std::to_string(number++));
    save_minari_dataset(first, minari);
    const auto second = load_dataset_file("minari", minari);
    save_d4rl_dataset(second, directory / "third.hdf5");
    const auto third = load_dataset_file("d4rl", directory / "third.hdf5", keep);
    ASSERT_EQ(third.rows(), first.rows()) << original;
    ASSERT_EQ(third.episodes().size(), first.episodes().size()) << original;
    for (int64_t row = 0; row < first.rows(); ++row) {
      const auto same = [&](const float* a, const float* b, int64_t dims) {
        return std::equal(a, a + dims, b);
      };
      ASSERT_TRUE(same(third.obs(row), first.obs(row), first.obs_dim())) << original << row;
      ASSERT_TRUE(same(third.next_obs(row), first.next_obs(row), first.obs_dim())) << original;
      ASSERT_TRUE(same(third.action(row), first.action(row), first.action_dim())) << original;
      ASSERT_EQ(third.reward(row), first.reward(row)) << original << row;
      ASSERT_EQ(third.terminated(row), first.terminated(row)) << original << row;
      ASSERT_EQ(third.truncated(row), first.truncated(row)) << original << row;
      ASSERT_EQ(third.following(row), first.following(row)) << original << row;
      ASSERT_EQ(third.next_action_valid(row), first.next_action_valid(row)) << original << row;
      if (!first.next_action_valid(row)) continue;
      ASSERT_TRUE(same(third.next_action(row), first.next_action(row), first.action_dim()));
    }
    EXPECT_EQ(third.fingerprint(), with_known_next_actions(first).fingerprint()) << original;
  }
}

TEST(D4rlWriter, CompressesAndSaysWhereItCannotWrite) {
  const TemporaryDirectory directory;
  DatasetBuilder builder(10, 1);
  builder.begin_episode(std::vector<float>(10, 0.0f));
  for (int i = 0; i < 20'000; ++i) {
    builder.add(std::array{0.5f}, 1, std::vector<float>(10, 0.0f), false, false);
  }
  const auto dataset = std::move(builder).build();
  save_d4rl_dataset(dataset, directory / "large.hdf5");
  EXPECT_LT(read_all(directory / "large.hdf5").size(), 100'000u);
  EXPECT_EQ(load_dataset_file("auto", directory / "large.hdf5").rows(), 20'000);
  EXPECT_THROW(save_d4rl_dataset(dataset, directory / "none/a.hdf5"), Error);
}

// If rows were dropped while reading, writing the data and reading it again loses no further rows.
TEST(Writers, KeepRowsAndNextActionsOfADroppedTimeout) {
  const TemporaryDirectory directory;
  const auto path =
      std::string(SOURCE_DIR) + "/tests/data/fixtures/d4rl/pendulum_no_next_gzip.hdf5";
  DatasetReadOptions drop;
  drop.timeout_policy = TimeoutPolicy::drop;
  const auto original = load_dataset_file("d4rl", path, drop);
  const auto last = original.episodes()[0].rows - 1;
  ASSERT_FALSE(original.truncated(last));
  ASSERT_TRUE(original.next_action_valid(last));
  save_npz_dataset(original, directory / "a.npz");
  save_d4rl_dataset(original, directory / "a.hdf5");
  for (const char* name : {"a.npz", "a.hdf5"}) {
    for (const auto policy : {TimeoutPolicy::drop, TimeoutPolicy::keep}) {
      DatasetReadOptions read;
      read.timeout_policy = policy;
      if (std::string(name) == "a.npz" && policy == TimeoutPolicy::drop) continue;
      const auto again = load_dataset_file("auto", directory / name, read);
      EXPECT_EQ(again.fingerprint(), original.with_next_actions().fingerprint()) << name;
    }
  }
}

TEST(Writers, ScaleActionsToTheEnvironment) {
  const TemporaryDirectory directory;
  const auto bounds = Space::box({-2}, {2});
  save_npz_dataset(small_dataset(), directory / "a.npz", &bounds);
  save_d4rl_dataset(small_dataset(), directory / "a.hdf5", &bounds);
  DatasetReadOptions read;
  read.timeout_policy = TimeoutPolicy::keep;
  for (const char* name : {"a.npz", "a.hdf5"}) {
    read.bounds = nullptr;
    EXPECT_FLOAT_EQ(load_dataset_file("auto", directory / name, read).action(3)[0], 0.6f);
    read.bounds = &bounds;
    EXPECT_EQ(load_dataset_file("auto", directory / name, read).fingerprint(),
              small_dataset().fingerprint());
  }
}

}  // namespace
}  // namespace rl_training
