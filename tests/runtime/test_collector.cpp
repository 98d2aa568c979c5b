#include "rl_training/runtime/collector.h"
#include "tests/runtime/online_fakes.h"
#include "tests/support/memory_state.h"

namespace rl_training::test_collector {
namespace {

struct Fixture {
  ReplayBuffer buffer;
  ConstantAlgorithm algorithm;
  ObsNormalizer normalizer{1};
  Collector::Options options;
  std::unique_ptr<Collector> collector;

  explicit Fixture(int64_t learning_starts = 5, int64_t envs = 1, uint64_t seed = 1)
      : buffer(100, Space::unbounded(1), Space::unit_box(1), envs) {
    CountingTask::add_to_table();
    options.learning_starts = learning_starts;
    options.reward.scale = 2;
    options.reward.shift = 1;
    collector =
        std::make_unique<Collector>(VectorEnv(CountingTask::kId, envs, 0, "env", nullptr), buffer,
                                    algorithm, normalizer, options, Rng(seed, "explore"));
  }
  void step(int times) {
    for (int i = 0; i < times; ++i) collector->step();
  }
  void visit_state(StateVisitor& state) { state.part("collector", *collector); }
};

TEST(Collector, StoresWhatTheStepLedToAlsoAtATimeLimit) {
  Fixture f;
  f.step(8);
  ASSERT_EQ(f.buffer.rows(), 8);
  const float obs[] = {0, 1, 2, 3, 100, 101, 102, 200};
  // For the last step of an episode, the next observation is the final observation of this episode,
  // not the first observation after the reset.
  const float next[] = {1, 2, 3, 4, 101, 102, 103, 201};
  for (int64_t row = 0; row < 8; ++row) {
    EXPECT_EQ(f.buffer.obs(row)[0], obs[row]) << row;
    EXPECT_EQ(f.buffer.next_obs(row)[0], next[row]) << row;
    EXPECT_EQ(f.buffer.truncated(row), row == 3) << row;
    EXPECT_EQ(f.buffer.terminated(row), row == 6) << row;
  }
  EXPECT_EQ(f.collector->steps(), 8);
}

TEST(Collector, StoresTransformedRewardsAndReportsRawReturns) {
  Fixture f;
  f.step(3);
  EXPECT_EQ(f.collector->episodes().take_ended().episodes, 0);
  f.step(1);
  const auto first = f.collector->episodes().take_ended();
  EXPECT_EQ(first.return_sum, 1 + 2 + 3 + 4);
  EXPECT_EQ(first.episodes, 1);
  EXPECT_EQ(f.collector->episodes().take_ended().episodes, 0);
  f.step(7);  // episode 1 has 3 steps, and episode 2 has 4 steps
  const auto later = f.collector->episodes().take_ended();
  EXPECT_EQ(later.return_sum, 6 + 10);
  EXPECT_EQ(later.episodes, 2);
  EXPECT_EQ(f.collector->episodes().count(), 3);
  for (int64_t row = 0; row < 4; ++row) {
    EXPECT_EQ(f.buffer.reward(row), static_cast<float>(2 * (row + 1) + 1));
  }
}

TEST(Collector, ActsAtRandomAtFirst) {
  Fixture f(/*learning_starts=*/60);
  f.step(70);
  float low = 1, high = -1, sum = 0;
  for (int64_t row = 0; row < 60; ++row) {
    const float action = f.buffer.action(row)[0];
    low = std::min(low, action);
    high = std::max(high, action);
    sum += action;
  }
  EXPECT_LT(low, -0.8f);
  EXPECT_GE(low, -1.0f);
  EXPECT_GT(high, 0.8f);
  EXPECT_LE(high, 1.0f);
  EXPECT_NEAR(sum / 60, 0, 0.3);
  for (int64_t row = 60; row < 70; ++row) EXPECT_EQ(f.buffer.action(row)[0], 0.25f);
  EXPECT_EQ(f.algorithm.seen.size(), 10u);
}

TEST(Collector, ThePolicySeesScaledObservationsAndTheBufferKeepsRawOnes) {
  Fixture f(0);
  // Sets the normaliser to (obs - 10) / 2.
  class Scale final : public StateVisitor {
    void on_array(const std::string& name, DType dtype, std::span<const int64_t>,
                  void* data) override {
      if (dtype == DType::f32) *static_cast<float*>(data) = name == "mean" ? 10.0f : 2.0f;
      if (dtype == DType::u8) *static_cast<uint8_t*>(data) = 0;  // clears the identity flag
    }
    void on_text(const std::string&, std::string&) override {}
  } scale;
  f.normalizer.visit_state(scale);
  f.step(2);
  EXPECT_EQ(f.algorithm.seen, (std::vector<float>{-5.0f, -4.5f}));
  EXPECT_EQ(f.buffer.obs(1)[0], 1.0f);
}

TEST(Collector, EveryEnvironmentCounts) {
  Fixture f(7, /*envs=*/3);
  f.step(4);
  EXPECT_EQ(f.collector->steps(), 12);
  EXPECT_EQ(f.collector->episodes().count(), 3);
  EXPECT_EQ(f.collector->episodes().take_ended().return_sum, 3 * 10);
  for (int64_t row = 0; row < 12; ++row) {
    EXPECT_EQ(f.buffer.obs(row)[0], static_cast<float>(row / 3)) << row;
    EXPECT_EQ(f.buffer.action(row)[0] == 0.25f, row >= 9) << row;  // learning_starts rounds up to 9
  }
}

TEST(Collector, GoesOnWhereItWasSaved) {
  Fixture straight(20), first(20);
  straight.step(30);
  first.step(13);
  MemoryState state;
  state.save(first);
  Fixture second(20, 1, /*seed=*/9);  // restoring must overwrite the whole initial state
  second.buffer.restore(0, first.buffer.encode(0, 13));
  state.restore(second);
  second.step(17);
  EXPECT_EQ(second.buffer.encode(0, 30), straight.buffer.encode(0, 30));
  EXPECT_EQ(second.collector->episodes().take_ended().return_sum,
            straight.collector->episodes().take_ended().return_sum);
  EXPECT_EQ(second.collector->episodes().count(), straight.collector->episodes().count());
}

}  // namespace
}  // namespace rl_training::test_collector
