#include <gtest/gtest.h>

#include <cmath>

#include "rl_training/data/replay_sampler.h"
#include "rl_training/data/row_priorities.h"
#include "tests/data/batch_memory.h"
#include "tests/support/memory_state.h"

namespace rl_training::test_row_priorities {
namespace {

std::vector<int64_t> counts(const RowPriorities& priorities, int draws) {
  std::vector<int64_t> result(static_cast<size_t>(priorities.size()));
  Rng rng(1);
  for (int i = 0; i < draws; ++i) ++result[static_cast<size_t>(priorities.draw(rng))];
  return result;
}

TEST(RowPriorities, DrawsInProportion) {
  RowPriorities priorities(100);
  priorities.grow(5);
  EXPECT_EQ(priorities.at(4), 1);
  priorities.update(std::vector<int64_t>{0, 1, 2, 3}, std::vector<float>{1, 2, 0, 4});
  const auto seen = counts(priorities, 80000);
  const double expected[] = {10000, 20000, 0, 40000, 10000};
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(seen[i], expected[i], 5 * std::sqrt(expected[i]));
  priorities.remove(3);
  EXPECT_EQ(counts(priorities, 1000)[3], 0);
}

TEST(RowPriorities, NewPlacesHaveTheLargestSoFar) {
  RowPriorities priorities(2);
  priorities.grow(2);
  priorities.update(std::vector<int64_t>{0}, std::vector<float>{3});
  priorities.grow(3);
  EXPECT_EQ(priorities.at(2), 3);
  // The second update recomputes the maximum, so the old maximum of 3 no longer applies.
  priorities.update(std::vector<int64_t>{0, 2}, std::vector<float>{1.5f, 2});
  priorities.grow(9);
  EXPECT_EQ(priorities.at(8), 2);
  EXPECT_EQ(priorities.at(1), 1);
  priorities.renew(1);
  EXPECT_EQ(priorities.at(1), 2);
}

TEST(RowPriorities, ComeBackWithTheState) {
  RowPriorities priorities(3), again(3);
  priorities.grow(6);
  priorities.update(std::vector<int64_t>{1, 5}, std::vector<float>{0.3f, 2.7f});
  MemoryState state;
  state.save(priorities);
  again.grow(6);
  state.restore(again);
  EXPECT_EQ(counts(again, 1000), counts(priorities, 1000));
  priorities.grow(7);
  again.grow(7);
  EXPECT_EQ(again.at(6), 2.7f);
  for (int i = 0; i < 2; ++i) {  // the third update recomputes the maximum
    priorities.update(std::vector<int64_t>{5, 6}, std::vector<float>{1, 1});
    again.update(std::vector<int64_t>{5, 6}, std::vector<float>{1, 1});
  }
  priorities.grow(8);
  again.grow(8);
  EXPECT_EQ(again.at(7), priorities.at(7));
  EXPECT_EQ(again.at(7), 1);
}

// Adds `count` rows. Row 5 is a gap, which is not a transition.
void add_rows(ReplayBuffer& buffer, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const auto n = static_cast<float>(buffer.total());
    const float obs[2] = {n, 0};
    if (buffer.total() == 5) {
      buffer.add_gap(obs, &n);
    } else {
      buffer.add(obs, &n, n, obs, false, false);
    }
  }
}

BatchRequest prioritised() {
  BatchRequest request;
  request.rows = 200;
  request.priorities = {.used = true, .reset_interval = 1000};
  return request;
}

// Sets the priority of every row except row 6 to 0. The sampler then draws only row 6 until new
// rows are added.
TEST(ReplaySampler, DrawsByPriorities) {
  ReplayBuffer buffer(7, Space::unbounded(2), Space::unit_box(1));
  add_rows(buffer, 10);
  const ObsNormalizer normalizer(2);
  ReplaySampler sampler(buffer, normalizer, prioritised(), Rng(1));
  BatchMemory batch(200);
  sampler.sample(batch.view());
  std::vector<float> priorities(200);
  std::vector<int> seen(20);
  for (size_t i = 0; i < 200; ++i) {
    ++seen[static_cast<size_t>(batch.rewards[i])];
    priorities[i] = batch.rewards[i] == 6 ? 1.0f : 0.0f;
  }
  for (size_t row = 0; row < 20; ++row) EXPECT_EQ(seen[row] > 0, row >= 3 && row < 10 && row != 5);
  sampler.set_priorities(priorities);
  sampler.sample(batch.view());
  for (size_t i = 0; i < 200; ++i) EXPECT_EQ(batch.rewards[i], 6);

  MemoryState state;
  state.save(sampler);
  ReplaySampler again(buffer, normalizer, prioritised(), Rng(9));
  state.restore(again);
  add_rows(buffer, 1);
  sampler.sample(batch.view());
  std::vector<float> first = batch.rewards;
  EXPECT_NEAR(std::count(first.begin(), first.end(), 10.0f), 100, 40);
  EXPECT_EQ(std::count(first.begin(), first.end(), 6.0f),
            200 - std::count(first.begin(), first.end(), 10.0f));
  again.sample(batch.view());
  EXPECT_EQ(batch.rewards, first);
}

}  // namespace
}  // namespace rl_training::test_row_priorities
