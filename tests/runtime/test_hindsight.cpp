#include <gtest/gtest.h>

#include <set>

#include "rl_training/data/batch.h"
#include "rl_training/runtime/hindsight.h"

namespace rl_training::test_hindsight {
namespace {

// A task whose goals are single numbers. The observation is the achieved goal, then the desired
// goal.
class NumberTask final : public GoalTask {
 public:
  int64_t goal_dim() const override { return 1; }
  int64_t achieved_goal_at() const override { return 0; }
  int64_t desired_goal_at() const override { return 1; }
  double compute_reward(std::span<const double> achieved,
                        std::span<const double> desired) const override {
    return -std::abs(achieved[0] - desired[0]);
  }
  bool compute_terminated(std::span<const double> achieved,
                          std::span<const double> desired) const override {
    return achieved[0] == desired[0];
  }
};

constexpr float kWanted = 5000;

// Adds rows. The achieved goal of row n is n before its step and n + 1 after it. The desired goal
// is 5000, and the action is n / 1000. Episodes are truncated at the rows in `ends`.
void fill(ReplayBuffer& buffer, int64_t rows, const std::set<int64_t>& ends) {
  for (int64_t i = 0; i < rows; ++i) {
    const auto n = static_cast<float>(buffer.total());
    const float obs[2] = {n, kWanted}, next_obs[2] = {n + 1, kWanted}, action = n / 1000;
    buffer.add(obs, &action, -7, next_obs, false, ends.contains(buffer.total()));
  }
}

BatchRequest request(int64_t rows) {
  BatchRequest request;
  request.rows = rows;
  request.gamma = 0.9;
  request.columns.push_back(BatchColumn::terminated);
  return request;
}

struct Drawn {
  // The new goal of `row` is the goal that the step of `goal_row` achieved. If the goal of `row`
  // was not changed, `goal_row` is -1.
  int64_t row, goal_row;
};

struct Fixture {
  ReplayBuffer buffer;
  NumberTask task;
  ObsNormalizer normalizer{2};
  HindsightOptions options;
  RewardTransform reward;

  Fixture(int64_t capacity, int64_t streams, int64_t rows, const std::set<int64_t>& ends)
      : buffer(capacity, Space::unbounded(2), Space::unit_box(1), streams) {
    fill(buffer, rows, ends);
    options.used = true;
    reward.scale = 0.5;
  }

  // Draws a batch and checks the properties that every row must have.
  std::vector<Drawn> draw(int64_t rows = 1000) {
    HindsightSampler sampler(buffer, normalizer, request(rows), task, reward, options, Rng(1));
    const Batch batch(request(rows), Space::unbounded(2), Space::unit_box(1));
    sampler.sample(batch.view());
    std::vector<Drawn> drawn;
    for (int64_t i = 0; i < rows; ++i) {
      const auto row = std::lround(1000 * batch.actions()[i][0].item<double>());
      const float wanted = batch.obs()[i][1].item<float>();
      EXPECT_EQ(batch.obs()[i][0].item<float>(), static_cast<float>(row));
      EXPECT_EQ(batch.next_obs()[i][0].item<float>(), static_cast<float>(row + 1));
      EXPECT_EQ(batch.next_obs()[i][1].item<float>(), wanted);  // s and s' have the same goal
      EXPECT_GE(buffer.episode_end(row), 0) << "of an episode that goes on";
      if (wanted == kWanted) {
        EXPECT_EQ(batch.rewards()[i].item<float>(), -7);  // the stored reward
        EXPECT_EQ(batch.terminated()[i].item<float>(), 0);
        drawn.push_back({row, -1});
        continue;
      }
      const auto goal_row = std::lround(wanted) - 1;
      EXPECT_EQ(batch.rewards()[i].item<float>(),
                static_cast<float>(-0.5 * static_cast<double>(std::abs(row - goal_row))));
      EXPECT_EQ(batch.terminated()[i].item<float>(), row == goal_row ? 1 : 0);
      EXPECT_EQ(row % buffer.streams(), goal_row % buffer.streams());
      EXPECT_EQ(buffer.episode_end(goal_row), buffer.episode_end(row));
      EXPECT_GE(goal_row, buffer.first());
      drawn.push_back({row, goal_row});
    }
    return drawn;
  }
};

int64_t relabelled(const std::vector<Drawn>& drawn) {
  return std::count_if(drawn.begin(), drawn.end(), [](const Drawn& d) { return d.goal_row >= 0; });
}

// Two environments, whose rows alternate. The rows of the first are 0 2 4 6 | 8 10, and those of
// the second are 1 3 5 7 9 | 11, where | ends an episode. Rows 8, 10 and 11 belong to unfinished
// episodes.
Fixture two_streams() { return Fixture(100, 2, 12, {6, 9}); }

TEST(Hindsight, RelabelsTheShareOfK) {
  auto f = two_streams();
  EXPECT_EQ(relabelled(f.draw(1000)), 800);
  f.options.k = 1;
  EXPECT_EQ(relabelled(f.draw(1000)), 500);
  f.options.k = 0;
  EXPECT_EQ(relabelled(f.draw(1000)), 0);
  f.options.k = 4;
  EXPECT_EQ(relabelled(f.draw(9)), 7);  // 7.2, rounded down
}

TEST(Hindsight, FutureIsThisStepOrALaterOne) {
  auto f = two_streams();
  std::set<int64_t> rows, ahead;
  for (const auto& d : f.draw()) {
    rows.insert(d.row);
    if (d.goal_row < 0) continue;
    EXPECT_GE(d.goal_row, d.row);
    if (d.row == 1) ahead.insert((d.goal_row - d.row) / 2);
  }
  EXPECT_EQ(rows, (std::set<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 9}));
  EXPECT_EQ(ahead, (std::set<int64_t>{0, 1, 2, 3, 4}));  // from this step to the last one
}

TEST(Hindsight, FinalIsTheLastStep) {
  auto f = two_streams();
  f.options.strategy = HindsightOptions::Strategy::final;
  for (const auto& d : f.draw()) {
    if (d.goal_row < 0) continue;
    EXPECT_EQ(d.goal_row, d.row % 2 == 0 ? 6 : 9);
  }
}

TEST(Hindsight, EpisodeIsAnyStepOfIt) {
  auto f = two_streams();
  f.options.strategy = HindsightOptions::Strategy::episode;
  std::set<int64_t> goals;
  for (const auto& d : f.draw()) {
    if (d.goal_row >= 0 && d.row == 4) goals.insert(d.goal_row);
  }
  EXPECT_EQ(goals, (std::set<int64_t>{0, 2, 4, 6}));
}

// With capacity 7, only rows 5 to 11 of the 12 rows remain. Of the episode 1 3 5 7 9, only rows 5,
// 7 and 9 remain.
TEST(Hindsight, RowsThatWereOverwrittenServeNoMore) {
  using enum HindsightOptions::Strategy;
  for (const auto strategy : {future, final, episode}) {
    Fixture f(7, 2, 12, {6, 9});
    f.options.strategy = strategy;
    std::set<int64_t> rows;
    for (const auto& d : f.draw()) rows.insert(d.row);
    EXPECT_EQ(rows, (std::set<int64_t>{5, 6, 7, 9})) << static_cast<int>(strategy);
  }
}

// The episode terminates without reaching its goal. Its last step is terminal for every goal. Other
// steps are terminal only if they reach their goal.
TEST(Hindsight, AFailureStaysAnEnd) {
  Fixture f(100, 1, 0, {});
  for (int n = 0; n < 4; ++n) {
    const float at = static_cast<float>(n);
    const float obs[2] = {at, kWanted}, next_obs[2] = {at + 1, kWanted}, action = at / 1000;
    f.buffer.add(obs, &action, -7, next_obs, /*terminated=*/n == 3, false);
  }
  f.options.strategy = HindsightOptions::Strategy::episode;
  HindsightSampler sampler(f.buffer, f.normalizer, request(200), f.task, f.reward, f.options,
                           Rng(1));
  const Batch batch(request(200), Space::unbounded(2), Space::unit_box(1));
  sampler.sample(batch.view());
  int ends_elsewhere = 0;
  for (int64_t i = 0; i < 200; ++i) {
    const bool last = batch.obs()[i][0].item<float>() == 3;
    const bool reached =
        batch.next_obs()[i][0].item<float>() == batch.next_obs()[i][1].item<float>();
    EXPECT_EQ(batch.terminated()[i].item<float>(), last || reached ? 1 : 0) << i;
    EXPECT_EQ(batch.discount()[i].item<float>(), last || reached ? 0 : 0.9f) << i;
    ends_elsewhere += last && !reached ? 1 : 0;
  }
  EXPECT_GT(ends_elsewhere, 0);
}

TEST(Hindsight, WaitsForTheFirstEpisodeToEnd) {
  Fixture f(100, 1, 5, {});
  const HindsightSampler sampler(f.buffer, f.normalizer, request(1), f.task, f.reward, f.options,
                                 Rng(1));
  EXPECT_FALSE(sampler.ready());
  fill(f.buffer, 1, {5});
  EXPECT_TRUE(sampler.ready());
}

TEST(Hindsight, RefusesSeveralSteps) {
  Fixture f(100, 1, 5, {});
  auto several = request(1);
  several.n_step = 3;
  EXPECT_THROW(
      HindsightSampler(f.buffer, f.normalizer, several, f.task, f.reward, f.options, Rng(1)),
      Error);
}

}  // namespace
}  // namespace rl_training::test_hindsight
