#include <gtest/gtest.h>

#include "rl_training/data/d4rl.h"
#include "rl_training/data/dataset_builder.h"
#include "rl_training/data/dataset_file.h"
#include "rl_training/data/npz.h"
#include "rl_training/util/error.h"
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
  // Begins where the one before it ended.
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
    EXPECT_EQ(read_all(path), first);  // no time stamps
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

// Rows that were dropped on the way in are not missed twice.
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
