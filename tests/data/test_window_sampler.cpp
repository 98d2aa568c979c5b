#include <gtest/gtest.h>

#include <set>

#include "rl_training/data/window_sampler.h"
#include "rl_training/util/error.h"
#include "tests/data/small_dataset.h"

namespace rl_training {
namespace {

TEST(TrajectoryWindows, StayInsideTheirEpisode) {
  const auto data = small_dataset();  // rows 0 to 2 and 3 to 4, with rewards 1 to 5
  Rng rng(4);
  const auto windows = sample_trajectory_windows(data, 2, 200, rng);
  ASSERT_EQ(windows.obs.size(), 200u * 2 * 2);
  ASSERT_EQ(windows.actions.size(), 200u * 2);
  std::set<int64_t> starts;
  for (size_t i = 0; i < 200; ++i) {
    const int64_t first = windows.first_rows[i];
    starts.insert(first);
    const int64_t end = first < 3 ? 3 : 5, begin = first < 3 ? 0 : 3;
    for (int64_t t = 0; t < 2; ++t) {
      const size_t at = i * 2 + static_cast<size_t>(t);
      const int64_t row = first + t;
      const bool real = row < end;
      EXPECT_EQ(windows.mask[at], real ? 1 : 0);
      EXPECT_EQ(windows.rewards[at], real ? data.reward(row) : 0);
      EXPECT_EQ(windows.obs[at * 2], real ? data.obs(row)[0] : 0);
      EXPECT_EQ(windows.obs[at * 2 + 1], real ? data.obs(row)[1] : 0);
      EXPECT_EQ(windows.actions[at], real ? data.action(row)[0] : 0);
      EXPECT_EQ(windows.timesteps[at], real ? row - begin : 0);
      EXPECT_EQ(windows.terminated[at], row == 2 && real ? 1 : 0);
      float rest = 0;
      for (int64_t r = row; r < end; ++r) rest += data.reward(r);
      EXPECT_EQ(windows.returns_to_go[at], rest);
    }
  }
  EXPECT_EQ(starts, (std::set<int64_t>{0, 1, 2, 3, 4}));
}

TEST(TrajectoryWindows, SeedDecides) {
  const auto data = small_dataset();
  Rng one(7), same(7), other(8);
  const auto windows = sample_trajectory_windows(data, 3, 50, one);
  EXPECT_EQ(windows.first_rows, sample_trajectory_windows(data, 3, 50, same).first_rows);
  EXPECT_NE(windows.first_rows, sample_trajectory_windows(data, 3, 50, other).first_rows);
}

TEST(TrajectoryWindows, RefusesNothingToDo) {
  Rng rng(1);
  EXPECT_THROW(sample_trajectory_windows(small_dataset(), 0, 1, rng), Error);
  EXPECT_THROW(sample_trajectory_windows(small_dataset(), 1, 0, rng), Error);
  EXPECT_THROW(sample_trajectory_windows(TransitionDataset(), 1, 1, rng), Error);
}

TEST(WindowSampler, RefusesEpisodesThatAreTooLong) {
  // The episodes have 3 and 2 rows.
  const auto data = std::make_shared<TransitionDataset>(small_dataset());
  BatchRequest request;
  request.rows = 1;
  request.columns = {BatchColumn::obs, BatchColumn::timestep};
  request.window = 2;
  const auto error_of = [&](int64_t max_steps) -> std::string {
    request.max_steps = max_steps;
    try {
      WindowSampler(data, ObsNormalizer(2), request, Rng(1));
    } catch (const Error& error) {
      EXPECT_EQ(error.place().key, "max_episode_length");
      return error.message();
    }
    return "no error";
  };
  EXPECT_EQ(error_of(0), "no error");
  EXPECT_EQ(error_of(3), "no error");
  EXPECT_EQ(error_of(2), "the dataset has longer episodes (expected at most 2 steps, got 3)");
}

}  // namespace
}  // namespace rl_training
