#include <gtest/gtest.h>

#include <cmath>

#include "rl_training/data/best_episodes.h"
#include "rl_training/data/dataset_builder.h"
#include "rl_training/util/error.h"
#include "tests/data/small_dataset.h"

namespace rl_training {
namespace {

// Creates one episode per list of rewards. The observations of all episodes are the consecutive
// numbers 0, 1, 2, ...
TransitionDataset episodes_of(const std::vector<std::vector<float>>& rewards) {
  DatasetBuilder builder(1, 1);
  float at = 0;
  for (const auto& episode : rewards) {
    builder.begin_episode(std::array{at});
    for (size_t t = 0; t < episode.size(); ++t) {
      const bool last = t + 1 == episode.size();
      builder.add(std::array{at / 10}, episode[t], std::array{at + 1}, false, last);
      ++at;
    }
    ++at;
  }
  return std::move(builder).build();
}

std::vector<float> rewards_of(const TransitionDataset& data) {
  std::vector<float> rewards;
  for (int64_t row = 0; row < data.rows(); ++row) rewards.push_back(data.reward(row));
  return rewards;
}

TEST(BestEpisodes, DiscountedReturn) {
  const auto data = episodes_of({{1, 2, 4}});
  EXPECT_DOUBLE_EQ(data.episode_return(0), 7);
  EXPECT_DOUBLE_EQ(data.episode_return(0, 0.5), 1 + 1 + 1);
  EXPECT_DOUBLE_EQ(data.episode_return(0, 0), 1);
}

// With gamma 1, the reward 8 at the second step is worth more than the reward 5 at the first step.
// With gamma 0.5, it is worth less.
TEST(BestEpisodes, AreChosenByDiscountedReturn) {
  const auto data = episodes_of({{5, 0}, {0, 8}});
  EXPECT_EQ(rewards_of(keep_best_episodes(data, 0.5, 1.0)), (std::vector<float>{0, 8}));
  EXPECT_EQ(rewards_of(keep_best_episodes(data, 0.5, 0.5)), (std::vector<float>{5, 0}));
}

TEST(BestEpisodes, StayWholeAndInOrder) {
  const auto data = episodes_of({{3}, {1, 1}, {9, 1}, {2, 2, 2}});  // returns 3, 2, 10, 6
  const auto kept = keep_best_episodes(data, 0.75, 1.0);
  EXPECT_EQ(rewards_of(kept), (std::vector<float>{3, 9, 1, 2, 2, 2}));
  ASSERT_EQ(kept.episodes().size(), 3u);
  EXPECT_EQ(kept.episodes()[1].first_row, 1);
  EXPECT_EQ(kept.episodes()[1].rows, 2);
  EXPECT_EQ(kept.episodes()[2].first_row, 3);
  // Observations 5 to 7 and their actions belong to the third episode of the whole dataset.
  EXPECT_EQ(kept.obs(1)[0], 5);
  EXPECT_EQ(kept.next_obs(1)[0], 6);
  EXPECT_EQ(kept.next_obs(2)[0], 7);
  EXPECT_EQ(kept.action(2)[0], 0.6f);
  EXPECT_TRUE(kept.truncated(2));
  EXPECT_FALSE(kept.truncated(1));
  EXPECT_EQ(kept.obs(1), data.obs(3));  // the same memory
}

TEST(BestEpisodes, EqualADatasetOfThoseAlone) {
  DatasetBuilder builder(2, 1);
  builder.begin_episode(std::array{200.0f, 0.0f});
  builder.add(std::array{0.3f}, 4, std::array{200.0f, 1.0f}, false, false);
  builder.add(std::array{0.4f}, 5, std::array{200.0f, 2.0f}, false, true);
  const auto alone = std::move(builder).build();
  const auto kept = keep_best_episodes(small_dataset(), 0.5, 1.0);
  EXPECT_EQ(kept.fingerprint(), alone.fingerprint());
  EXPECT_EQ(kept.with_next_actions().fingerprint(), alone.with_next_actions().fingerprint());
}

TEST(BestEpisodes, KeepGivenNextActions) {
  auto builder = small_builder();
  builder.give_next_actions(std::vector<float>{5, 6, 7, 8, 9}, {1, 0, 1, 1, 0});
  const auto kept = keep_best_episodes(std::move(builder).build(), 0.5, 1.0);
  ASSERT_EQ(kept.rows(), 2);
  EXPECT_EQ(kept.next_action(0)[0], 8);
  EXPECT_FALSE(kept.next_action_valid(1));
}

TEST(BestEpisodes, CountIsRoundedDownButAtLeastOne) {
  const auto data = episodes_of(std::vector<std::vector<float>>(100, {1.0f}));
  const auto kept = [&](double fraction) { return keep_best_episodes(data, fraction, 1.0).rows(); };
  EXPECT_EQ(kept(0.001), 1);
  EXPECT_EQ(kept(0.1), 10);
  EXPECT_EQ(kept(0.29), 29);  // in double precision, 100 * 0.29 is 28.999999999999996
  EXPECT_EQ(kept(0.299), 29);
  EXPECT_EQ(kept(1), 100);
  // If returns are equal, the first episodes are selected.
  EXPECT_EQ(keep_best_episodes(data, 0.02, 1.0).obs(1)[0], 2);
}

TEST(BestEpisodes, RefusesNonsense) {
  for (const double fraction : {0.0, -0.5, 1.5, std::nan("")}) {
    EXPECT_THROW(keep_best_episodes(small_dataset(), fraction, 1.0), Error) << fraction;
  }
  EXPECT_EQ(keep_best_episodes(TransitionDataset(), 0.5, 1.0).rows(), 0);
}

}  // namespace
}  // namespace rl_training
