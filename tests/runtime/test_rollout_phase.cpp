#include "rl_training/algorithms/ppo.h"
#include "rl_training/runtime/phase.h"
#include "tests/runtime/online_fakes.h"
#include "tests/support/memory_state.h"

namespace rl_training::test_rollout_phase {
namespace {

constexpr double kGamma = 0.9;

AlgorithmContext counting_context() {
  AlgorithmContext context;
  context.obs = Space::unbounded(1);
  context.action = Space::unit_box(1);
  return context;
}

PpoOptions small_options(bool normalize) {
  PpoOptions options;
  options.hidden_sizes = {4};
  options.gamma = kGamma;
  options.batch_size = 4;
  options.epochs = 3;
  options.learning_rate = 0.05;
  options.rollout.steps = 8;
  options.rollout.gae_lambda = 0;
  options.rollout.normalize_observations = options.rollout.normalize_rewards = normalize;
  return options;
}

// Rollouts of 8 steps in CountingTask (see online_fakes.h).
struct Fixture {
  explicit Fixture(const PpoOptions& given, int64_t envs = 1)
      : options(given),
        ppo(options, counting_context()),
        buffer(Space::unbounded(1), Space::unit_box(1), 8 / envs, envs),
        sampler(buffer, options.request(), Rng(0, "rollout")) {
    CountingTask::add_to_table();
    RolloutCollector::Options collecting{.rollout = options.rollout, .gamma = kGamma, .reward = {}};
    collecting.reward.scale = 2;
    collector = std::make_unique<RolloutCollector>(
        VectorEnv(CountingTask::kId, envs, 0, "env", nullptr), buffer, ppo, normalizer, collecting);
    auto spec = options.phases(80).front();
    phase = std::make_unique<RolloutPhase>(spec, *collector, sampler, ppo);
    batch = Batch(options.request(), Space::unbounded(1), Space::unit_box(1));
  }
  // Takes `steps` steps in every environment and returns the number of updates.
  int advance(int steps) {
    int updates = 0;
    LoopHooks loop;
    loop.collected = [] {};
    loop.update = [&](Sampler& source) {
      source.sample(batch.view());
      for (int64_t i = 0; i < batch.rows(); ++i) {
        used.push_back(batch.obs().data_ptr<float>()[i]);
      }
      scheduled.push_back(phase->scheduled_update(0));
      ppo.update(batch, 1.0);
      ++updates;
    };
    for (int i = 0; i < steps; ++i) phase->advance(loop);
    return updates;
  }
  Batch all_rows() {
    auto request = options.request();
    request.rows = 8;
    Batch rows(request, Space::unbounded(1), Space::unit_box(1));
    for (int64_t row = 0; row < 8; ++row) buffer.gather(row, rows.view(), row);
    return rows;
  }
  double value(float obs) {
    normalizer.apply(&obs, &obs);
    return ppo.state_values(torch::full({1, 1}, obs)).item<double>();
  }
  void visit_state(StateVisitor& state) {
    state.part("ppo", ppo);
    state.part("normalizer", normalizer);
    state.part("buffer", buffer);
    state.part("sampler", sampler);
    state.part("collector", *collector);
  }

  PpoOptions options;
  Ppo ppo;
  ObsNormalizer normalizer{1};
  RolloutBuffer buffer;
  RolloutSampler sampler;
  std::unique_ptr<RolloutCollector> collector;
  std::unique_ptr<RolloutPhase> phase;
  Batch batch;
  std::vector<float> used;
  std::vector<int64_t> scheduled;
};

// The first 8 steps. A time limit ends the first episode after 4 steps. The second episode
// terminates after 3 steps.
constexpr std::array<float, 8> kObs = {0, 1, 2, 3, 100, 101, 102, 200};
constexpr std::array<float, 8> kNext = {1, 2, 3, 4, 101, 102, 103, 201};
constexpr std::array<float, 8> kRewards = {1, 2, 3, 4, 1, 2, 3, 1};
constexpr size_t kTerminated = 6;

TEST(RolloutCollector, BootstrapsPastATimeLimitAndNotPastTheEnd) {
  Fixture f(small_options(false));
  for (int i = 0; i < 8; ++i) f.collector->step();
  const auto rows = f.all_rows();
  for (size_t i = 0; i < 8; ++i) {
    const auto row = static_cast<int64_t>(i);
    EXPECT_EQ(rows.obs()[row].item<float>(), kObs[i]);
    EXPECT_NEAR(rows.values()[row].item<double>(), f.value(kObs[i]), 1e-5);
    const double next = i == kTerminated ? 0 : kGamma * f.value(kNext[i]);
    EXPECT_NEAR(rows.advantages()[row].item<double>(), 2 * kRewards[i] + next - f.value(kObs[i]),
                1e-4)
        << i;
  }
  EXPECT_EQ(f.collector->steps(), 8);
  const auto ended = f.collector->episodes().take_ended();
  EXPECT_EQ(ended.return_sum, 10 + 6);  // sum of the raw rewards
  EXPECT_EQ(ended.episodes, 2);
  EXPECT_TRUE(f.normalizer.identity());
}

TEST(RolloutCollector, LogProbabilitiesAreThoseOfTheActionsAsDrawn) {
  Fixture f(small_options(false));
  for (int i = 0; i < 8; ++i) f.collector->step();
  const auto rows = f.all_rows();
  EXPECT_TRUE(
      torch::allclose(f.ppo.log_density(rows.obs(), rows.actions()), rows.log_probs(), 1e-4, 1e-5));
}

// The stored reward is 2 r, divided by the running standard deviation of G. Each step sets
// G = gamma G + 2 r, and each episode starts with G = 0.
TEST(RolloutCollector, DividesRewardsByTheDeviationOfReturns) {
  auto options = small_options(true);
  options.rollout.normalize_observations = false;
  Fixture f(options);
  for (int i = 0; i < 8; ++i) f.collector->step();
  const auto rows = f.all_rows();
  RunningStatistics returns(1);
  float sum = 0;
  for (size_t i = 0; i < 8; ++i) {
    sum = static_cast<float>(kGamma) * sum + 2 * kRewards[i];
    returns.add(std::span(&sum, 1));
    const double reward = std::min(2 * kRewards[i] / returns.deviation()[0], 10.0);
    const double next = i == kTerminated ? 0 : kGamma * f.value(kNext[i]);
    EXPECT_NEAR(rows.advantages()[static_cast<int64_t>(i)].item<double>(),
                reward + next - f.value(kObs[i]), 1e-3)
        << i;
    if (i == 3 || i == kTerminated) sum = 0;
  }
}

// An observation is included in the statistics before it is normalised. The final observations of
// episodes are never included.
TEST(RolloutCollector, NormalisesByWhatItHasSeen) {
  Fixture f(small_options(true));
  RunningStatistics seen(1);
  std::vector<double> expected;
  for (size_t i = 0; i < 8; ++i) {
    const float obs = kObs[i];
    seen.add(std::span(&obs, 1));
    expected.push_back((obs - seen.mean()[0]) / seen.deviation()[0]);
    f.collector->step();
  }
  const auto rows = f.all_rows();
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(rows.obs()[static_cast<int64_t>(i)].item<double>(), expected[i], 1e-4) << i;
  }
  const float after = 201;  // the observation for the next action
  seen.add(std::span(&after, 1));
  EXPECT_NEAR(f.normalizer.mean()[0], seen.mean()[0], 1e-4);
  EXPECT_NEAR(f.normalizer.scale()[0], seen.deviation()[0], 1e-4);
}

TEST(RolloutPhase, UpdatesOnEveryRowOnceAPass) {
  Fixture f(small_options(false));
  EXPECT_EQ(f.advance(7), 0);
  EXPECT_EQ(f.buffer.rows(), 7);
  EXPECT_EQ(f.advance(1), 6);
  EXPECT_EQ(f.buffer.rows(), 0);
  ASSERT_EQ(f.used.size(), 24u);
  for (size_t pass = 0; pass < 3; ++pass) {
    std::vector<float> rows(f.used.begin() + 8 * pass, f.used.begin() + 8 * (pass + 1));
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(rows, std::vector<float>(kObs.begin(), kObs.end()));
  }
  EXPECT_EQ(planned_updates(f.phase->spec()), 60);
}

// All updates of a rollout use the learning rate of its first update.
TEST(RolloutPhase, TheScheduleCountsRollouts) {
  Fixture f(small_options(false));
  EXPECT_EQ(f.phase->scheduled_update(0), 0);
  f.advance(16);
  std::vector<int64_t> expected(6, 0);
  expected.resize(12, 6);
  EXPECT_EQ(f.scheduled, expected);
  EXPECT_EQ(f.phase->scheduled_update(0), 12);
}

TEST(RolloutPhase, APolicyThatMovedTooFarEndsTheUseOfItsRollout) {
  auto options = small_options(false);
  options.target_kl = 1e-4;
  Fixture f(options);
  const int updates = f.advance(8);
  EXPECT_GT(updates, 1);  // before the first update, the KL divergence is 0
  EXPECT_LT(updates, 6);
  EXPECT_EQ(f.buffer.rows(), 0);
  EXPECT_EQ(f.advance(7), 0);
}

TEST(RolloutPhase, ResumesAtAnyStep) {
  const auto options = small_options(true);
  Fixture whole(options, 2);
  whole.advance(11);
  MemoryState expected;
  expected.save(whole);
  for (const int steps : {0, 1, 3, 4, 5, 10}) {
    SCOPED_TRACE(steps);
    Fixture first(options, 2);
    first.advance(steps);
    MemoryState saved, got;
    saved.save(first);
    Fixture second(options, 2);
    saved.restore(second);
    second.advance(11 - steps);
    got.save(second);
    EXPECT_TRUE(got.parts() == expected.parts());
  }
}

}  // namespace
}  // namespace rl_training::test_rollout_phase
