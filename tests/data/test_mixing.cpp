#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "rl_training/data/dataset_builder.h"
#include "rl_training/data/mixing.h"
#include "rl_training/util/error.h"
#include "tests/data/small_dataset.h"

namespace rl_training {
namespace {

// Creates `episodes` episodes of `steps` rows. Row t of episode e has the observation 1000 tag + 10
// e + t.
TransitionDataset tagged(int tag, int episodes, int steps) {
  DatasetBuilder builder(1, 1);
  for (int e = 0; e < episodes; ++e) {
    const auto obs = [&](int t) { return static_cast<float>(1000 * tag + 10 * e + t); };
    builder.begin_episode(std::array{obs(0)});
    for (int t = 0; t < steps; ++t) {
      builder.add(std::array{obs(t) / 10'000}, 1, std::array{obs(t + 1)}, t + 1 == steps, false);
    }
  }
  return std::move(builder).build();
}

int64_t rows_of(const TransitionDataset& data, int tag) {
  int64_t rows = 0;
  for (int64_t row = 0; row < data.rows(); ++row) {
    rows += static_cast<int>(data.obs(row)[0]) / 1000 == tag ? 1 : 0;
  }
  return rows;
}

TEST(Mixing, SharesFollowTheWeights) {
  const std::vector<DatasetPart> parts = {{tagged(1, 10, 4), 3}, {tagged(2, 10, 4), 1}};
  const auto mixed = mix_transition_datasets(parts, 30, 5);
  EXPECT_EQ(mixed.rows(), 30);
  // The shares are 22.5 and 7.5 rows. The remainders are equal, so the first part gets the
  // additional row.
  EXPECT_EQ(rows_of(mixed, 1), 23);
  EXPECT_EQ(rows_of(mixed, 2), 7);
  EXPECT_EQ(mix_transition_datasets(parts, 0, 5).rows(), 80);
  const std::vector<DatasetPart> thirds = {
      {tagged(1, 1, 4), 1}, {tagged(2, 1, 4), 1}, {tagged(3, 1, 4), 1}};
  EXPECT_EQ(mix_transition_datasets(thirds, 10, 1).rows(), 10);
}

TEST(Mixing, EpisodesStayWholeAndComeOnceBeforeTheyComeAgain) {
  const std::vector<DatasetPart> parts = {{tagged(1, 5, 4), 1}};
  const auto mixed = mix_transition_datasets(parts, 42, 9);
  std::map<int, int> seen;
  for (size_t e = 0; e < mixed.episodes().size(); ++e) {
    const auto& episode = mixed.episodes()[e];
    const bool cut = e + 1 == mixed.episodes().size();
    EXPECT_EQ(episode.rows, cut ? 2 : 4);
    for (int64_t t = 0; t < episode.rows; ++t) {
      const int64_t row = episode.first_row + t;
      EXPECT_EQ(mixed.obs(row)[0], mixed.obs(episode.first_row)[0] + static_cast<float>(t));
      EXPECT_EQ(mixed.next_obs(row)[0], mixed.obs(row)[0] + 1);
    }
    ++seen[static_cast<int>(mixed.obs(episode.first_row)[0])];
  }
  ASSERT_EQ(seen.size(), 5u);
  for (const auto& [obs, count] : seen) EXPECT_TRUE(count == 2 || count == 3) << obs;
  // The row at which an episode was cut still has its next action.
  const auto with_next = mixed.with_next_actions();
  ASSERT_TRUE(with_next.next_action_valid(41));
  EXPECT_EQ(with_next.next_action(41)[0], mixed.next_obs(41)[0] / 10'000);
  EXPECT_FALSE(with_next.next_action_valid(39));
}

TEST(Mixing, SeedDecides) {
  const std::vector<DatasetPart> parts = {{tagged(1, 20, 4), 1}, {tagged(2, 20, 3), 1}};
  const auto one = mix_transition_datasets(parts, 50, 1).fingerprint();
  EXPECT_EQ(mix_transition_datasets(parts, 50, 1).fingerprint(), one);
  EXPECT_NE(mix_transition_datasets(parts, 50, 2).fingerprint(), one);
}

TEST(Mixing, GivenNextActionsMeetDerivedOnes) {
  auto builder = small_builder();
  builder.give_next_actions(std::vector<float>{5, 6, 7, 8, 9}, {1, 0, 1, 1, 1});
  const std::vector<DatasetPart> parts = {{std::move(builder).build(), 1}, {small_dataset(), 1}};
  const auto mixed = mix_transition_datasets(parts, 0, 3);
  ASSERT_TRUE(mixed.has_next_actions());
  int valid_given = 0, valid_derived = 0;
  for (int64_t row = 0; row < mixed.rows(); ++row) {
    if (!mixed.next_action_valid(row)) {
      EXPECT_EQ(mixed.next_action(row)[0], 0);
      continue;
    }
    (mixed.next_action(row)[0] >= 5 ? valid_given : valid_derived) += 1;
  }
  EXPECT_EQ(valid_given, 4);
  EXPECT_EQ(valid_derived, 3);
}

TEST(Mixing, RefusesWhatDoesNotFit) {
  const std::vector<DatasetPart> other = {{tagged(1, 1, 4), 1}, {small_dataset(), 1}};
  const std::vector<DatasetPart> weightless = {{tagged(1, 1, 4), 0}};
  const std::vector<DatasetPart> odd = {{tagged(1, 1, 4), NAN}};
  const std::vector<DatasetPart> empty = {{TransitionDataset(), 1}};
  for (const auto& parts : {other, weightless, odd, empty, {}}) {
    EXPECT_THROW(mix_transition_datasets(parts, 10, 1), Error);
  }
  EXPECT_THROW(mix_transition_datasets(std::vector<DatasetPart>{{tagged(1, 1, 4), 1}}, -1, 1),
               Error);
}

}  // namespace
}  // namespace rl_training
