#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "rl_training/data/rollout_buffer.h"
#include "rl_training/data/running_statistics.h"
#include "rl_training/util/error.h"
#include "tests/support/memory_state.h"

namespace rl_training::test_rollout_buffer {
namespace {

std::vector<float> advantages_of(std::vector<float> rewards, std::vector<float> values,
                                 std::vector<uint8_t> ended, std::vector<float> last,
                                 double lambda = 0.95) {
  std::vector<float> result(rewards.size());
  generalized_advantages({rewards, values, ended, last, 0.99, lambda}, result);
  return result;
}

void expect_near(const std::vector<float>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << i;
}

TEST(GeneralizedAdvantages, ByHand) {
  expect_near(advantages_of({1, 1, 1}, {0.5f, 0.6f, 0.7f}, {0, 0, 0}, {0.8f}),
              {3.087884, 2.120026, 1.092});
  expect_near(advantages_of({1, 1, 1}, {0.5f, 0.6f, 0.7f}, {0, 1, 0}, {0.8f}),
              {1.4702, 0.4, 1.092});
  // A time-out with V(final) = 2: the reward includes gamma V(final).
  expect_near(advantages_of({1, 1 + 0.99f * 2, 1}, {0.5f, 0.6f, 0.7f}, {0, 1, 0}, {0.8f}),
              {3.33239, 2.38, 1.092});
}

TEST(GeneralizedAdvantages, LimitsOfLambda) {
  // With lambda 0, the advantages are the one-step TD errors.
  expect_near(advantages_of({1, 2, 3}, {0.5f, 0.6f, 0.7f}, {0, 0, 0}, {0.8f}, 0),
              {1 + 0.99 * 0.6 - 0.5, 2 + 0.99 * 0.7 - 0.6, 3 + 0.99 * 0.8 - 0.7});
  // With lambda 1, the advantages are the discounted returns minus the values.
  const double last = 3 + 0.99 * 0.8, second = 2 + 0.99 * last, first = 1 + 0.99 * second;
  expect_near(advantages_of({1, 2, 3}, {0.5f, 0.6f, 0.7f}, {0, 0, 0}, {0.8f}, 1),
              {first - 0.5, second - 0.6, last - 0.7});
}

TEST(GeneralizedAdvantages, EnvironmentsDoNotMix) {
  const auto together =
      advantages_of({1, 5, 1, 6, 1, 7}, {0.5f, 1, 0.6f, 2, 0.7f, 3}, {0, 0, 1, 0, 0, 0}, {0.8f, 4});
  const auto first = advantages_of({1, 1, 1}, {0.5f, 0.6f, 0.7f}, {0, 1, 0}, {0.8f});
  const auto second = advantages_of({5, 6, 7}, {1, 2, 3}, {0, 0, 0}, {4});
  for (size_t t = 0; t < 3; ++t) {
    EXPECT_EQ(together[2 * t], first[t]);
    EXPECT_EQ(together[2 * t + 1], second[t]);
  }
}

// Three steps of two environments with one-dimensional observations. Row n has the observation n
// and the action 10 n.
struct Example {
  Example() : buffer(Space::unbounded(1), Space::unit_box(1), 3, 2) {}
  void add() {
    const auto n = static_cast<float>(buffer.rows());
    const std::array<float, 2> obs = {n, n + 1}, actions = {10 * n, 10 * n + 10},
                               log_probs = {-n, -n - 1}, values = {n / 2, n / 2 + 0.5f},
                               rewards = {1, 2};
    const std::array<uint8_t, 2> ended = {0, 1};
    buffer.add({obs.data(), actions.data(), log_probs.data(), values.data(), rewards.data(),
                ended.data()});
  }
  void fill() {
    while (!buffer.full()) add();
    const std::array<float, 2> last = {3, 3};
    buffer.finish(last, 0.99, 0.95);
  }
  void visit_state(StateVisitor& state) { buffer.visit_state(state); }
  RolloutBuffer buffer;
};

BatchRequest rollout_request(int64_t rows) {
  BatchRequest request;
  request.rows = rows;
  using enum BatchColumn;
  request.columns = {obs, action, log_prob, value, advantage};
  return request;
}

// Memory for a batch of `rows` rows.
struct Memory {
  explicit Memory(int64_t rows) : obs(rows), action(rows), log_prob(rows), value(rows), gae(rows) {
    view.rows = rows;
    view.obs_bytes = view.action_bytes = sizeof(float);
    view.obs = reinterpret_cast<unsigned char*>(obs.data());
    view.action = reinterpret_cast<unsigned char*>(action.data());
    view.log_prob = log_prob.data();
    view.value = value.data();
    view.advantage = gae.data();
  }
  std::vector<float> obs, action, log_prob, value, gae;
  BatchView view;
};

TEST(RolloutSampler, APassHasEveryRowOnceWithItsOwnColumns) {
  Example f;
  f.fill();
  RolloutSampler sampler(f.buffer, rollout_request(2), Rng(1));
  std::vector<std::vector<float>> orders;
  for (int pass = 0; pass < 4; ++pass) {
    sampler.shuffle();
    std::vector<float> seen;
    for (int i = 0; i < 3; ++i) {
      Memory memory(2);
      sampler.sample(memory.view);
      for (size_t row = 0; row < 2; ++row) {
        const float n = memory.obs[row];
        EXPECT_EQ(memory.action[row], 10 * n);
        EXPECT_EQ(memory.log_prob[row], -n);
        EXPECT_EQ(memory.value[row], n / 2);
        // In the second environment, the reward is 2 and every step ends an episode, so A = 2 - V.
        if (static_cast<int>(n) % 2 == 1) {
          EXPECT_EQ(memory.gae[row], 2 - n / 2);
        }
        seen.push_back(n);
      }
    }
    Memory more(2);
    EXPECT_THROW(sampler.sample(more.view), Error);
    orders.push_back(seen);
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, (std::vector<float>{0, 1, 2, 3, 4, 5}));
  }
  EXPECT_NE(orders[0], orders[1]);
}

TEST(RolloutSampler, RefusesOtherColumns) {
  const Example f;
  auto request = rollout_request(2);
  request.columns.push_back(BatchColumn::next_obs);
  EXPECT_THROW(RolloutSampler(f.buffer, request, Rng(1)), Error);
}

TEST(RolloutBuffer, ResumesInTheMiddle) {
  Example whole;
  whole.fill();
  for (const int steps : {0, 1, 3}) {
    Example first;
    for (int i = 0; i < steps; ++i) first.add();
    MemoryState saved;
    saved.save(first);
    Example second;
    saved.restore(second);
    EXPECT_EQ(second.buffer.rows(), 2 * steps);
    second.fill();
    for (int64_t row = 0; row < 6; ++row) {
      Memory got(1), expected(1);
      second.buffer.gather(row, got.view, 0);
      whole.buffer.gather(row, expected.view, 0);
      EXPECT_EQ(got.obs, expected.obs);
      EXPECT_EQ(got.gae, expected.gae);
    }
  }
}

TEST(RolloutBuffer, KeepsNoMoreThanItsSteps) {
  Example f;
  f.fill();
  EXPECT_THROW(f.add(), Error);
  f.buffer.clear();
  EXPECT_EQ(f.buffer.rows(), 0);
}

// The rows (1, 2, 2, 7) have the mean 3 and the variance 5.5. They are combined with a prior of
// mean 0 and variance 1 that counts as 1e-4 rows. The result must not depend on how many rows are
// added at once.
TEST(RunningStatistics, EqualThoseOfAllRows) {
  const std::vector<float> rows = {1, 2, 2, 7};
  for (const size_t at_once : {1, 2, 4}) {
    RunningStatistics statistics(1);
    for (size_t i = 0; i < rows.size(); i += at_once) {
      statistics.add(std::span(rows).subspan(i, at_once));
    }
    EXPECT_NEAR(statistics.mean()[0], 3, 1e-3);
    EXPECT_NEAR(statistics.deviation()[0], std::sqrt(5.5), 1e-3);
    EXPECT_NEAR(statistics.mean()[0], 3 * 4 / 4.0001, 1e-9);
  }
}

TEST(RunningStatistics, EntriesHaveTheirOwn) {
  RunningStatistics statistics(2);
  const std::vector<float> rows = {1, 10, 3, 30};
  statistics.add(rows);
  EXPECT_NEAR(statistics.mean()[0], 2, 1e-3);
  EXPECT_NEAR(statistics.mean()[1], 20, 2e-3);
  EXPECT_NEAR(statistics.deviation()[0], 1, 1e-3);
  EXPECT_NEAR(statistics.deviation()[1], 10, 2e-2);
}

TEST(RunningStatistics, BeginWithKnownValues) {
  const std::vector<float> mean = {2}, deviation = {3}, row = {2};
  RunningStatistics statistics(mean, deviation, 100);
  EXPECT_NEAR(statistics.deviation()[0], 3, 1e-6);
  statistics.add(row);
  EXPECT_NEAR(statistics.mean()[0], 2, 1e-9);
  EXPECT_NEAR(statistics.deviation()[0], std::sqrt(9 * 100.0 / 101), 1e-6);
}

}  // namespace
}  // namespace rl_training::test_rollout_buffer
