#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include "rl_training/data/dataset_builder.h"
#include "rl_training/data/space.h"
#include "rl_training/util/error.h"
#include "tests/data/small_dataset.h"

namespace rl_training {
namespace {

TEST(TransitionDataset, HoldsWhatWasAdded) {
  const auto data = small_dataset();
  ASSERT_EQ(data.rows(), 5);
  EXPECT_EQ(data.obs_dim(), 2);
  EXPECT_EQ(data.action_dim(), 1);
  ASSERT_EQ(data.episodes().size(), 2u);
  EXPECT_EQ(data.episodes()[0].first_row, 0);
  EXPECT_EQ(data.episodes()[0].rows, 3);
  EXPECT_EQ(data.episodes()[1].first_row, 3);
  EXPECT_EQ(data.episodes()[1].rows, 2);
  const std::vector<float> tags = {100, 100, 100, 200, 200}, times = {0, 1, 2, 0, 1};
  for (int64_t row = 0; row < 5; ++row) {
    EXPECT_EQ(data.obs(row)[0], tags[row]);
    EXPECT_EQ(data.obs(row)[1], times[row]);
    EXPECT_EQ(data.next_obs(row)[0], tags[row]);
    EXPECT_EQ(data.next_obs(row)[1], times[row] + 1);
    EXPECT_EQ(data.action(row)[0], static_cast<float>(row) / 10);
    EXPECT_EQ(data.reward(row), static_cast<float>(row + 1));
    EXPECT_EQ(data.terminated(row), row == 2);
    EXPECT_EQ(data.truncated(row), row == 4);
  }
}

TEST(TransitionDataset, SuccessorIsAViewOfTheNextRow) {
  const auto data = small_dataset();
  EXPECT_EQ(data.next_obs(0), data.obs(1));
  EXPECT_EQ(data.next_obs(1), data.obs(2));
  EXPECT_NE(data.next_obs(2), data.obs(3));  // row 2 ends the episode
  EXPECT_EQ(data.next_obs(3), data.obs(4));
}

TEST(TransitionDataset, CopiesShareTheColumns) {
  const auto data = small_dataset();
  const auto copy = data;
  EXPECT_EQ(copy.obs(0), data.obs(0));
  EXPECT_EQ(copy.action(0), data.action(0));
  EXPECT_EQ(data.with_next_actions().obs(0), data.obs(0));
}

TEST(TransitionDataset, ReturnsAreSumsOverEpisodes) {
  const auto data = small_dataset();
  EXPECT_DOUBLE_EQ(data.episode_return(0), 6);
  EXPECT_DOUBLE_EQ(data.episode_return(1), 9);
  EXPECT_DOUBLE_EQ(data.mean_return(), 7.5);
}

TEST(TransitionDataset, NextActionsStayInsideEpisodes) {
  const auto plain = small_dataset();
  EXPECT_FALSE(plain.has_next_actions());
  const auto data = plain.with_next_actions();
  ASSERT_TRUE(data.has_next_actions());
  for (const int64_t row : {0, 1, 3}) {
    EXPECT_TRUE(data.next_action_valid(row));
    EXPECT_EQ(data.next_action(row)[0], data.action(row + 1)[0]);
  }
  for (const int64_t row : {2, 4}) {
    EXPECT_FALSE(data.next_action_valid(row));
    EXPECT_EQ(data.next_action(row)[0], 0.0f);
  }
  EXPECT_NE(data.fingerprint(), plain.fingerprint());
}

TEST(TransitionDataset, GivenNextActionsAreKept) {
  auto builder = small_builder();
  builder.give_next_actions(std::vector<float>{5, 6, 7, 8, 9}, {1, 0, 1, 1, 1});
  const auto data = std::move(builder).build().with_next_actions();
  EXPECT_EQ(data.next_action(0)[0], 5);
  EXPECT_FALSE(data.next_action_valid(1));
  EXPECT_EQ(data.next_action(1)[0], 0);
  EXPECT_TRUE(data.next_action_valid(4));
  EXPECT_EQ(data.next_action(4)[0], 9);
}

// Row 2 terminates and needs no next action. Row 4 ends by a time limit and has no next action.
TEST(TransitionDataset, RowsWithoutANextActionCanBeLeftOut) {
  const auto all = small_dataset().with_next_actions();
  const auto known = all.where_next_action_is_known();
  ASSERT_EQ(known.rows(), 4);
  ASSERT_EQ(known.episodes().size(), 2u);
  EXPECT_EQ(known.episodes()[1].first_row, 3);
  EXPECT_EQ(known.episodes()[1].rows, 1);
  EXPECT_EQ(known.next_action(3)[0], all.action(4)[0]);  // known, although row 4 is omitted
  EXPECT_NE(known.fingerprint(), all.fingerprint());
  EXPECT_EQ(known.where_next_action_is_known().fingerprint(), known.fingerprint());
}

TEST(TransitionDataset, LeavingOutAnInnerRowSplitsItsEpisode) {
  auto builder = small_builder();
  builder.give_next_actions(std::vector<float>{5, 6, 7, 8, 9}, {1, 0, 1, 0, 1});
  const auto known = std::move(builder).build().where_next_action_is_known();
  ASSERT_EQ(known.rows(), 3);
  ASSERT_EQ(known.episodes().size(), 3u);
  const std::vector<float> rewards = {1, 3, 5}, next_actions = {5, 7, 9};
  for (int64_t row = 0; row < 3; ++row) {
    EXPECT_EQ(known.episodes()[row].first_row, row);
    EXPECT_EQ(known.episodes()[row].rows, 1);
    EXPECT_EQ(known.reward(row), rewards[row]);
    EXPECT_EQ(known.next_action(row)[0], next_actions[row]);
  }
  EXPECT_EQ(known.next_obs(0)[1], 1);  // the successor does not change
}

TEST(TransitionDataset, EqualNextActionsHaveEqualFingerprints) {
  auto builder = small_builder();
  builder.give_next_actions(std::vector<float>{0.1f, 0.2f, 99, 0.4f, 99}, {1, 1, 0, 1, 0});
  EXPECT_EQ(std::move(builder).build().fingerprint(),
            small_dataset().with_next_actions().fingerprint());
}

// All parts of one row, so that a test can change them one at a time.
struct OneRow {
  float obs = 1, action = 0.5f, reward = 2, next_obs = 3;
  bool terminated = false, truncated = false, begin_again = false;
};

std::string fingerprint_of(const OneRow& row) {
  DatasetBuilder builder(1, 1);
  builder.begin_episode(std::array{row.obs});
  builder.add(std::array{0.0f}, 0, std::array{row.obs}, false, false);
  if (row.begin_again) builder.begin_episode(std::array{row.obs});
  builder.add(std::array{row.action}, row.reward, std::array{row.next_obs}, row.terminated,
              row.truncated);
  return std::move(builder).build().fingerprint();
}

TEST(TransitionDataset, FingerprintChangesWithEveryPart) {
  const std::vector<std::function<void(OneRow&)>> changes = {
      [](OneRow&) {},
      [](OneRow& row) { row.obs = 1.0000001f; },
      [](OneRow& row) { row.action = 0.50000006f; },
      [](OneRow& row) { row.reward = -2; },
      [](OneRow& row) { row.next_obs = 4; },
      [](OneRow& row) { row.terminated = true; },
      [](OneRow& row) { row.truncated = true; },
      [](OneRow& row) { row.terminated = row.truncated = true; },
      [](OneRow& row) { row.begin_again = true; },
  };
  std::set<std::string> seen;
  for (const auto& change : changes) {
    OneRow row;
    change(row);
    EXPECT_EQ(fingerprint_of(row).size(), 64u);
    EXPECT_EQ(fingerprint_of(row), fingerprint_of(row));
    seen.insert(fingerprint_of(row));
  }
  EXPECT_EQ(seen.size(), changes.size());
}

// The values and their order are equal, but the episodes are split at another row.
TEST(TransitionDataset, FingerprintKnowsWhereEpisodesEnd) {
  const auto cut_after = [](int rows) {
    DatasetBuilder builder(1, 1);
    builder.begin_episode(std::array{1.0f});
    for (int row = 0; row < 3; ++row) {
      if (row == rows) builder.begin_episode(std::array{1.0f});
      builder.add(std::array{0.0f}, 0, std::array{1.0f}, false, false);
    }
    return std::move(builder).build().fingerprint();
  };
  EXPECT_NE(cut_after(1), cut_after(2));
}

// The rewards 1 2 3 | 4 5 are replaced by -1 -1 1 | -1 -1. The second episode never succeeds, so
// its return is that of an episode that fails forever, -1 / (1 - 0.9) = -10.
TEST(TransitionDataset, AFailedEpisodeHasTheReturnOfFailingForEver) {
  const std::vector<float> rewards = {-1, -1, 1, -1, -1};
  const auto data = small_dataset().with_rewards(rewards).with_returns_to_go(
      {.gamma = 0.9, .failure_reward = -1});
  EXPECT_FLOAT_EQ(data.return_to_go(2), 1);
  EXPECT_FLOAT_EQ(data.return_to_go(0), -1 + 0.9f * (-1 + 0.9f));
  EXPECT_FLOAT_EQ(data.return_to_go(3), -10);
  EXPECT_FLOAT_EQ(data.return_to_go(4), -10);
}

// The sum of rewards ends at terminations and time-outs, without bootstrapping.
TEST(TransitionDataset, MonteCarloReturnsStayInTheEpisode) {
  const auto data = small_dataset().with_returns_to_go({.gamma = 0.9});
  EXPECT_FLOAT_EQ(data.return_to_go(2), 3);
  EXPECT_FLOAT_EQ(data.return_to_go(1), 2 + 0.9f * 3);
  EXPECT_FLOAT_EQ(data.return_to_go(0), 1 + 0.9f * (2 + 0.9f * 3));
  EXPECT_FLOAT_EQ(data.return_to_go(4), 5);
  EXPECT_FLOAT_EQ(data.return_to_go(3), 4 + 0.9f * 5);
  EXPECT_EQ(data.fingerprint(), small_dataset().fingerprint());
  EXPECT_TRUE(data.with_next_actions().has_returns_to_go());
  EXPECT_FALSE(data.with_rewards(std::vector<float>(5, 1.0f)).has_returns_to_go());
  EXPECT_FALSE(small_dataset().has_returns_to_go());
}

TEST(DatasetBuilder, EmptyEpisodesVanishAndOpenOnesEnd) {
  DatasetBuilder builder(1, 1);
  builder.begin_episode(std::array{1.0f});
  builder.begin_episode(std::array{2.0f});
  builder.add(std::array{0.0f}, 1, std::array{3.0f}, false, false);
  builder.begin_episode(std::array{4.0f});
  builder.add(std::array{0.0f}, 1, std::array{5.0f}, false, false);
  builder.begin_episode(std::array{6.0f});
  const auto data = std::move(builder).build().with_next_actions();
  ASSERT_EQ(data.rows(), 2);
  ASSERT_EQ(data.episodes().size(), 2u);
  EXPECT_EQ(data.obs(0)[0], 2);
  EXPECT_EQ(data.next_obs(0)[0], 3);
  EXPECT_EQ(data.obs(1)[0], 4);
  EXPECT_EQ(data.next_obs(1)[0], 5);
  EXPECT_FALSE(data.truncated(1));
  EXPECT_FALSE(data.next_action_valid(0));
}

TEST(DatasetBuilder, KnowsTheActionAfterACutEpisode) {
  DatasetBuilder builder(1, 1);
  builder.begin_episode(std::array{1.0f});
  builder.add(std::array{0.25f}, 1, std::array{2.0f}, false, false);
  builder.end_episode(std::array{0.75f});
  builder.end_episode(std::array{9.0f});  // no episode is open
  builder.begin_episode(std::array{3.0f});
  builder.end_episode(std::array{9.0f});  // the episode is empty
  builder.begin_episode(std::array{4.0f});
  builder.add(std::array{0.5f}, 1, std::array{5.0f}, false, false);
  const auto data = std::move(builder).build().with_next_actions();
  ASSERT_EQ(data.rows(), 2);
  EXPECT_TRUE(data.next_action_valid(0));
  EXPECT_EQ(data.next_action(0)[0], 0.75f);
  EXPECT_FALSE(data.next_action_valid(1));
  EXPECT_EQ(data.action(1)[0], 0.5f);
}

// Both builders build the same rows. SlotDatasetBuilder uses existing memory, in which some slots
// are not used.
TEST(SlotDatasetBuilder, EqualsTheCopyingOne) {
  const Column<float> obs(std::vector<float>{1, 2, 3, 99, 4, 5, 6});
  const Column<float> actions(std::vector<float>{.1f, .2f, .3f, .4f, .5f, .6f, .7f});
  HeapMemory memory;
  SlotDatasetBuilder slots(Space::unbounded(1), Space::unit_box(1), obs.bytes(), actions.bytes(),
                           memory);
  slots.add(0, 10, false, false);
  slots.add(1, 20, false, false);
  slots.end_episode(true);
  slots.add(4, 30, false, false);
  slots.add(5, 40, true, false);
  const auto in_place = std::move(slots).build();
  EXPECT_EQ(in_place.obs(2), obs.data() + 4);
  DatasetBuilder copying(1, 1);
  copying.begin_episode(std::array{1.0f});
  copying.add(std::array{.1f}, 10, std::array{2.0f}, false, false);
  copying.add(std::array{.2f}, 20, std::array{3.0f}, false, false);
  copying.end_episode(std::array{.3f});
  copying.begin_episode(std::array{4.0f});
  copying.add(std::array{.5f}, 30, std::array{5.0f}, false, false);
  copying.add(std::array{.6f}, 40, std::array{6.0f}, true, false);
  const auto copied = std::move(copying).build();
  EXPECT_EQ(in_place.fingerprint(), copied.fingerprint());
  EXPECT_EQ(in_place.with_next_actions().fingerprint(), copied.with_next_actions().fingerprint());
  EXPECT_EQ(in_place.with_next_actions().next_action(1)[0], .3f);
  EXPECT_FALSE(in_place.next_action_valid(3));

  SlotDatasetBuilder misused(Space::unbounded(1), Space::unit_box(1), obs.bytes(), actions.bytes(),
                             memory);
  EXPECT_THROW(misused.add(7, 0, false, false), Error);
  EXPECT_THROW(misused.add(-1, 0, false, false), Error);
  misused.add(0, 0, false, false);
  EXPECT_THROW(misused.add(2, 0, false, false), Error);  // skips a slot
  EXPECT_THROW(SlotDatasetBuilder(Space::unbounded(2), Space::unit_box(1), obs.bytes(),
                                  actions.bytes(), memory),
               Error);

  SlotDatasetBuilder at_the_end(Space::unbounded(1), Space::unit_box(1), obs.bytes(),
                                actions.bytes(), memory);
  at_the_end.add(6, 0, false, false);  // the last slot, which has no successor
  auto with_successor = at_the_end;
  EXPECT_THROW(std::move(at_the_end).build(), Error);
  with_successor.give_successor(std::array{7.0f});
  EXPECT_EQ(std::move(with_successor).build().next_obs(0)[0], 7);
}

TEST(DatasetBuilder, RefusesMisuse) {
  DatasetBuilder builder(2, 1);
  EXPECT_THROW(builder.add(std::array{0.0f}, 0, std::array{0.0f, 0.0f}, false, false), Error);
  EXPECT_THROW(builder.begin_episode(std::array{0.0f}), Error);
  builder.begin_episode(std::array{0.0f, 0.0f});
  EXPECT_THROW(builder.add(std::array{0.0f, 1.0f}, 0, std::array{0.0f, 0.0f}, false, false), Error);
  builder.add(std::array{0.0f}, 0, std::array{0.0f, 0.0f}, true, false);
  EXPECT_THROW(builder.add(std::array{0.0f}, 0, std::array{0.0f, 0.0f}, false, false), Error);
}

TEST(Column, SharesForeignStorage) {
  auto numbers = std::make_shared<std::vector<int>>(std::vector<int>{4, 5, 6});
  Column<int> column(numbers, numbers->data() + 1, 2);
  const std::weak_ptr<std::vector<int>> watch = numbers;
  numbers.reset();
  const Column<int> copy = column;
  column = {};
  EXPECT_FALSE(watch.expired());
  ASSERT_EQ(copy.size(), 2);
  EXPECT_EQ(copy[0], 5);
  EXPECT_EQ(copy.span()[1], 6);
}

TEST(Space, ScalesBothWays) {
  const auto bounds = Space::box({-2, 0}, {2, 10});
  EXPECT_EQ(bounds.to_unit(0, -1.3), -0.65f);
  EXPECT_EQ(bounds.to_unit(1, 7.5), 0.5f);
  EXPECT_EQ(bounds.from_unit(0, 1), 2.0);
  EXPECT_EQ(bounds.from_unit(1, -1), 0.0);
  EXPECT_EQ(bounds.from_unit(1, 0.5), 7.5);
  EXPECT_EQ(bounds.to_unit(0, 5), 2.5f);  // values beyond the bounds are retained
  const auto odd = Space::box({-0.1}, {0.3});
  EXPECT_EQ(odd.from_unit(0, 1), 0.3);
  EXPECT_EQ(odd.from_unit(0, -1), -0.1);
}

}  // namespace
}  // namespace rl_training
