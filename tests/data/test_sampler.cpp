#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "rl_training/data/dataset_builder.h"
#include "rl_training/data/normalizer.h"
#include "rl_training/data/sampler.h"
#include "rl_training/util/error.h"
#include "tests/data/batch_memory.h"
#include "tests/data/small_dataset.h"
#include "tests/support/memory_state.h"

namespace rl_training {
namespace {

std::shared_ptr<const TransitionDataset> shared_small() {
  return std::make_shared<const TransitionDataset>(small_dataset());
}

TEST(UniformSampler, GathersWholeRows) {
  const auto data = shared_small();
  UniformSampler sampler(data, ObsNormalizer(2), transitions(), Rng(1));
  BatchMemory batch(64);
  sampler.sample(batch.view());
  for (size_t i = 0; i < 64; ++i) {
    const auto row = static_cast<int64_t>(batch.rewards[i]) - 1;  // the reward identifies the row
    ASSERT_GE(row, 0);
    ASSERT_LT(row, 5);
    EXPECT_EQ(batch.actions[i], data->action(row)[0]);
    EXPECT_EQ(batch.terminated[i], row == 2 ? 1.0f : 0.0f);
    EXPECT_EQ(batch.discount[i], row == 2 ? 0.0f : 0.5f);
    for (size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(batch.obs[2 * i + k], data->obs(row)[k]);
      EXPECT_EQ(batch.next_obs[2 * i + k], data->next_obs(row)[k]);
    }
  }
}

// 257 rows do not divide evenly among three threads.
TEST(UniformSampler, ThreadsCopyTheSameRows) {
  ThreadPool pool(3);
  UniformSampler alone(shared_small(), ObsNormalizer(2), transitions(), Rng(5));
  UniformSampler together(shared_small(), ObsNormalizer(2), transitions(), Rng(5), &pool);
  for (const int64_t rows : {1, 63, 257}) {
    BatchMemory expected(rows), got(rows);
    alone.sample(expected.view());
    together.sample(got.view());
    EXPECT_EQ(got.rewards, expected.rewards);
    EXPECT_EQ(got.obs, expected.obs);
    EXPECT_EQ(got.next_obs, expected.next_obs);
    EXPECT_EQ(got.actions, expected.actions);
  }
}

TEST(UniformSampler, DrawsEveryRowEquallyOften) {
  UniformSampler sampler(shared_small(), ObsNormalizer(2), transitions(), Rng(7));
  std::vector<float> rewards(50'000);
  BatchView view;
  view.rows = 50'000;
  view.reward = rewards.data();
  sampler.sample(view);
  std::vector<int> counts(5);
  for (const float reward : rewards) ++counts[static_cast<size_t>(reward) - 1];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 450);  // five standard deviations
}

TEST(UniformSampler, NormalisesBothObservations) {
  const auto data = shared_small();
  const auto normalizer = ObsNormalizer::fit(*data);
  UniformSampler plain(data, ObsNormalizer(2), transitions(), Rng(3));
  UniformSampler normalising(data, normalizer, transitions(), Rng(3));
  BatchMemory a(32), b(32);
  plain.sample(a.view());
  normalising.sample(b.view());
  EXPECT_EQ(a.rewards, b.rewards);
  for (size_t i = 0; i < a.obs.size(); ++i) {
    const float mean = normalizer.mean()[i % 2], scale = normalizer.scale()[i % 2];
    EXPECT_EQ(b.obs[i], (a.obs[i] - mean) / scale);
    EXPECT_EQ(b.next_obs[i], (a.next_obs[i] - mean) / scale);
  }
}

TEST(UniformSampler, SeedDecidesAndStateGoesOn) {
  const auto data = shared_small();
  UniformSampler first(data, ObsNormalizer(2), transitions(), Rng(5)),
      second(data, ObsNormalizer(2), transitions(), Rng(5)),
      other(data, ObsNormalizer(2), transitions(), Rng(6));
  BatchMemory a(40), b(40), c(40);
  first.sample(a.view());
  second.sample(b.view());
  other.sample(c.view());
  EXPECT_EQ(a.rewards, b.rewards);
  EXPECT_NE(a.rewards, c.rewards);

  MemoryState state;
  state.save(first);
  first.sample(a.view());
  state.restore(other);
  other.sample(c.view());
  EXPECT_EQ(a.rewards, c.rewards);
  EXPECT_EQ(a.obs, c.obs);
}

TEST(UniformSampler, GivesNextActionsWithTheirValidity) {
  const auto data = std::make_shared<const TransitionDataset>(small_dataset().with_next_actions());
  UniformSampler sampler(data, ObsNormalizer(2),
                         with_columns({BatchColumn::next_action, BatchColumn::next_action_valid}),
                         Rng(2));
  BatchMemory batch(50);
  sampler.sample(batch.view_with_next_actions());
  for (size_t i = 0; i < 50; ++i) {
    const auto row = static_cast<int64_t>(batch.rewards[i]) - 1;
    EXPECT_EQ(batch.next_action_valid[i], row == 2 || row == 4 ? 0.0f : 1.0f);
    EXPECT_EQ(batch.next_actions[i], data->next_action(row)[0]);
  }
}

std::string refused(const BatchRequest& request) {
  try {
    UniformSampler(shared_small(), ObsNormalizer(2), request, Rng(0));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

// The error is raised when the sampler is created, not at the first batch, and it names the column.
TEST(UniformSampler, RefusesWhatItCannotGive) {
  EXPECT_THROW(UniformSampler(std::make_shared<const TransitionDataset>(), ObsNormalizer(0),
                              transitions(), Rng(0)),
               Error);
  EXPECT_THROW(UniformSampler(shared_small(), ObsNormalizer(3), transitions(), Rng(0)), Error);
  EXPECT_EQ(refused(transitions()), "accepted");
  EXPECT_EQ(refused(with_columns({BatchColumn::next_action})),
            "next_action: the dataset has no next actions");
  EXPECT_EQ(refused(with_columns({BatchColumn::return_to_go})),
            "return_to_go: the dataset has no returns to go");
  EXPECT_EQ(refused(with_columns({BatchColumn::mask})),
            "mask: a dataset of transitions cannot fill this column of a batch");
}

// The rewards are 1 2 3 | 4 5, and gamma is 0.5. Row 2 terminates, and row 4 is truncated.
TEST(UniformSampler, SpansSeveralStepsUpToTheEndOfTheEpisode) {
  const auto data = std::make_shared<const TransitionDataset>(small_dataset().with_next_actions());
  UniformSampler sampler(data, ObsNormalizer(2), with_columns({BatchColumn::next_action_valid}, 2),
                         Rng(2));
  BatchMemory batch(200);
  sampler.sample(batch.view_with_next_actions());
  struct Expected {
    float reward, discount, terminated;
    int64_t last;
  };
  const std::map<float, Expected> by_action = {
      {data->action(0)[0], {1 + 0.5f * 2, 0.25f, 0, 1}},
      {data->action(1)[0], {2 + 0.5f * 3, 0, 1, 2}},
      {data->action(2)[0], {3, 0, 1, 2}},
      {data->action(3)[0], {4 + 0.5f * 5, 0.25f, 0, 4}},
      {data->action(4)[0], {5, 0.5f, 0, 4}},  // one step is left, so the discount is gamma
  };
  std::set<float> seen;
  for (size_t i = 0; i < 200; ++i) {
    const auto& expected = by_action.at(batch.actions[i]);
    seen.insert(batch.actions[i]);
    EXPECT_EQ(batch.rewards[i], expected.reward);
    EXPECT_EQ(batch.discount[i], expected.discount);
    EXPECT_EQ(batch.terminated[i], expected.terminated);
    EXPECT_EQ(batch.next_obs[2 * i], data->next_obs(expected.last)[0]);
    EXPECT_EQ(batch.next_obs[2 * i + 1], data->next_obs(expected.last)[1]);
    EXPECT_EQ(batch.next_action_valid[i], data->next_action_valid(expected.last) ? 1 : 0);
  }
  EXPECT_EQ(seen.size(), 5u);
}

TEST(ObsNormalizer, UsesPopulationStatisticsOfObservationsOnly) {
  const auto normalizer = ObsNormalizer::fit(small_dataset());
  EXPECT_FALSE(normalizer.identity());
  // Over the five rows, entry 0 is 100 three times and 200 twice, and entry 1 is 0, 1, 2, 0, 1.
  EXPECT_FLOAT_EQ(normalizer.mean()[0], 140);
  EXPECT_FLOAT_EQ(normalizer.scale()[0], static_cast<float>(std::sqrt(2400.0) + 1e-3));
  EXPECT_FLOAT_EQ(normalizer.mean()[1], 0.8f);
  EXPECT_FLOAT_EQ(normalizer.scale()[1], static_cast<float>(std::sqrt(0.56) + 1e-3));
}

TEST(ObsNormalizer, HugeValuesDoNotOverflow) {
  DatasetBuilder builder(1, 1);
  builder.begin_episode(std::array{3e38f});
  builder.add(std::array{0.0f}, 0, std::array{-3e38f}, false, false);
  builder.add(std::array{0.0f}, 0, std::array{0.0f}, true, false);
  const auto normalizer = ObsNormalizer::fit(std::move(builder).build());
  EXPECT_FLOAT_EQ(normalizer.scale()[0], 3e38f);
}

TEST(ObsNormalizer, StateCarriesOver) {
  auto fitted = ObsNormalizer::fit(small_dataset());
  MemoryState state;
  state.save(fitted);
  ObsNormalizer restored(2);
  EXPECT_TRUE(restored.identity());
  state.restore(restored);
  EXPECT_FALSE(restored.identity());
  EXPECT_EQ(restored.mean(), fitted.mean());
  EXPECT_EQ(restored.scale(), fitted.scale());
  const std::array in = {123.0f, 4.0f};
  std::array<float, 2> a{}, b{};
  fitted.apply(in.data(), a.data());
  restored.apply(in.data(), b.data());
  EXPECT_EQ(a, b);
  ObsNormalizer(2).apply(in.data(), a.data());
  EXPECT_EQ(a, in);
}

TEST(UniformSampler, GivesReturnsWhereTheyWereComputed) {
  auto data =
      std::make_shared<const TransitionDataset>(small_dataset().with_returns_to_go({.gamma = 0.5}));
  UniformSampler sampler(data, ObsNormalizer(2), with_columns({BatchColumn::return_to_go}), Rng(3));
  BatchMemory batch(64);
  std::vector<float> returns(64);
  auto view = batch.view();
  view.return_to_go = returns.data();
  sampler.sample(view);
  const std::array<float, 5> expected = {1 + 0.5f * 3.5f, 3.5f, 3, 4 + 2.5f, 5};
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(returns[i], expected[static_cast<size_t>(batch.rewards[i]) - 1]);
  }
}

}  // namespace
}  // namespace rl_training
