#include "tests/runtime/online_fakes.h"

namespace rl_training::test_online_trainer {
namespace {

class NeverReady final : public Sampler {
 public:
  int64_t rows() const override { return 0; }
  void sample(const BatchView&) override { ADD_FAILURE() << "nothing to draw from"; }
  void visit_state(StateVisitor&) override {}
};

struct OnlineTraining {
  ConstantAlgorithm algorithm;
  FakeSampler dataset, replay;
  Sampler* online_sampler = &replay;
  RecordingSink sink;
  TrainerOptions options;
  ObsNormalizer normalizer{1};
  BudgetOptions limits;
  int64_t envs = 1;
  std::optional<double> ratio;
  PhaseSpec pretraining{.name = "offline"};  // omitted if its length is 0
  PhaseSpec online{.name = "online", .source = PhaseSpec::Source::mixture};
  std::vector<int64_t> update_steps;  // environment steps at the time of each update
  std::vector<int64_t> positions;

  OnlineTraining() {
    options.eval_interval = options.log_interval = options.checkpoint_interval = 1000;
    online.collect.learning_starts = 0;
  }

  TrainSummary run() {
    CountingTask::add_to_table();
    ReplayBuffer buffer(50, Space::unbounded(1), Space::unit_box(1), envs);
    Collector collector(VectorEnv(CountingTask::kId, envs, 0, "env", nullptr), buffer, algorithm,
                        normalizer, {}, Rng(0));
    std::vector<PhaseSpec> specs = {pretraining, online};
    if (pretraining.length == 0) specs.erase(specs.begin());
    options.budget = plan_budget(limits, specs, 50, 10);
    TrainerParts parts;
    parts.algorithm = &algorithm;
    MixtureSampler mixture(dataset, replay, ratio, Rng(1));
    DataPhase first(pretraining, dataset);
    OnlinePhase second(online, collector, *online_sampler, &mixture);
    if (pretraining.length > 0) parts.phases.push_back(&first);
    parts.phases.push_back(&second);
    parts.batch = Batch({.rows = 10}, Space::unbounded(1), Space::unit_box(1));
    parts.normalizer = &normalizer;
    Callbacks callbacks;
    callbacks.on_update_end = [&](const TrainProgress& progress, const Metrics&) {
      update_steps.push_back(progress.global_step);
      positions.push_back(progress.position);
    };
    return Trainer(std::move(parts), options).run(sink, callbacks);
  }
};

using Steps = std::vector<int64_t>;

TEST(OnlineTrainer, OneUpdateAfterEachStepOnceLearningStarts) {
  OnlineTraining t;
  t.online.length = 8;
  t.online.collect.learning_starts = 5;
  const auto summary = t.run();
  EXPECT_EQ(t.update_steps, (Steps{5, 6, 7, 8}));
  EXPECT_EQ(summary.update_count, 4);
  EXPECT_EQ(summary.global_step, 8);
  EXPECT_EQ(summary.stop_reason, "total_timesteps");
  EXPECT_EQ(t.replay.batches, 4);
  EXPECT_EQ(t.dataset.batches, 0);
  EXPECT_TRUE(t.algorithm.phases.empty());  // begin_phase() is not called for the first phase
}

TEST(OnlineTrainer, BlocksComeAtMultiplesOfTheFrequency) {
  OnlineTraining t;
  t.online.length = 14;
  t.online.collect.learning_starts = 5;
  t.online.collect.train_frequency = 4;
  t.online.collect.gradient_updates_per_step = 3;
  t.run();
  EXPECT_EQ(t.update_steps, (Steps{8, 8, 8, 12, 12, 12}));
}

TEST(OnlineTrainer, WaitsForTheRowsThatMustBeThere) {
  OnlineTraining t;
  t.online.length = 9;
  t.online.collect.learning_starts = 3;
  t.online.min_buffer_size = 7;
  t.run();
  EXPECT_EQ(t.update_steps, (Steps{7, 8, 9}));
}

TEST(OnlineTrainer, EveryEnvironmentsStepsCount) {
  OnlineTraining t;
  t.envs = 3;
  t.online.length = 12;
  t.online.collect.train_frequency = 2;
  t.online.collect.gradient_updates_per_step = 2;
  const auto summary = t.run();
  EXPECT_EQ(t.update_steps, (Steps{3, 3, 6, 6, 6, 6, 9, 9, 12, 12, 12, 12}));
  EXPECT_EQ(summary.global_step, 12);
}

TEST(OnlineTrainer, PretrainsFromTheDatasetThenGoesOnline) {
  OnlineTraining t;
  t.online.length = 4;
  t.pretraining.length = 3;
  t.ratio = 0.6;
  t.options.log_interval = 2;
  t.options.checkpoint_interval = 4;
  const auto summary = t.run();
  EXPECT_EQ(t.update_steps, (Steps{0, 0, 0, 1, 2, 3, 4}));
  EXPECT_EQ(t.positions, (Steps{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(t.dataset.batches, 3);
  EXPECT_EQ(t.replay.batches, 4);
  EXPECT_EQ(t.algorithm.phases, std::vector<std::string>{"online"});
  EXPECT_EQ(t.algorithm.planned_updates, 4);
  EXPECT_EQ(summary.update_count, 7);
  EXPECT_EQ(t.sink.events, (std::vector<std::string>{"log 2", "log 4", "checkpoint 4", "log 6",
                                                     "log 7", "checkpoint 7"}));
  const auto& before = t.sink.rows[0];
  EXPECT_EQ(before["pretrain_updates_done"], 2);
  EXPECT_EQ(before["offline_batch_size"], 10);
  EXPECT_EQ(before["online_batch_size"], 0);
  EXPECT_EQ(before["buffer_size"], 0);
  const auto& after = t.sink.rows.back();
  EXPECT_EQ(after["global_step"], 4);
  EXPECT_EQ(after["pretrain_updates_done"], 3);
  EXPECT_EQ(after["offline_batch_size"], 6);
  EXPECT_EQ(after["online_batch_size"], 4);
  EXPECT_EQ(after["buffer_size"], 4);
  EXPECT_EQ(after["episodes"], 1);
  EXPECT_EQ(after["train_return_mean"], 10.0);
  EXPECT_TRUE(t.sink.rows[1]["train_return_mean"].is_null());
}

TEST(OnlineTrainer, MaxUpdatesEndsItInsideABlock) {
  OnlineTraining t;
  t.online.length = 100;
  t.online.collect.learning_starts = 2;
  t.online.collect.gradient_updates_per_step = 4;
  t.limits.max_updates = 6;
  const auto summary = t.run();
  EXPECT_EQ(t.update_steps, (Steps{2, 2, 2, 2, 3, 3}));
  EXPECT_EQ(summary.stop_reason, "max_updates");
  EXPECT_EQ(summary.global_step, 3);
  EXPECT_EQ(t.sink.events.back(), "checkpoint 3");
}

TEST(OnlineTrainer, AnEpochIsABufferInBatches) {
  OnlineTraining t;
  t.online.length = 100;
  t.limits.max_epochs = 2;  // an epoch has 50 / 10 = 5 updates
  const auto summary = t.run();
  EXPECT_EQ(summary.update_count, 10);
  EXPECT_EQ(summary.stop_reason, "max_epochs");
  EXPECT_EQ(t.sink.rows.back()["epoch"], 2);
}

// The schedule covers only the offline updates. The online phase uses the schedule's start value.
TEST(OnlineTrainer, TheScheduleIsOfTheOfflineRunBefore) {
  OnlineTraining t;
  t.options.schedule = {.type = ScheduleSpec::Type::linear, .start = 0.8, .end = 0.0};
  t.online.length = 3;
  t.pretraining.length = 4;
  t.pretraining.schedule = PhaseSpec::Schedule::phase;
  t.online.schedule = PhaseSpec::Schedule::constant;
  t.run();
  const std::vector<double> expected = {0.8, 0.6, 0.4, 0.2, 0.8, 0.8, 0.8};
  ASSERT_EQ(t.algorithm.lr_scales.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(t.algorithm.lr_scales[i], expected[i], 1e-12) << i;
  }
  // A row contains the scale of the latest update.
  EXPECT_NEAR(t.sink.rows.back()["lr_scale"].get<double>(), 0.8, 1e-12);
}

// The online phase uses the full learning rate, even if the warm-up is longer than the offline
// phase.
TEST(OnlineTrainer, TheWarmUpIsOfTheOfflineRunBefore) {
  OnlineTraining t;
  t.options.schedule.warmup_steps = 4;
  t.online.length = 2;
  t.pretraining.length = 2;
  t.pretraining.schedule = PhaseSpec::Schedule::phase;
  t.online.schedule = PhaseSpec::Schedule::constant;
  t.run();
  EXPECT_EQ(t.algorithm.lr_scales, (std::vector<double>{0.25, 0.5, 1.0, 1.0}));
}

// By default, as in RLPD, pre-training and the online phase share one schedule.
TEST(OnlineTrainer, PretrainingSharesTheSchedule) {
  OnlineTraining t;
  t.options.schedule = {.type = ScheduleSpec::Type::linear, .start = 1.0, .end = 0.0};
  t.online.length = 2;
  t.pretraining.length = 2;
  t.run();
  EXPECT_EQ(t.algorithm.lr_scales, (std::vector<double>{1.0, 0.75, 0.5, 0.25}));
}

// The sampler is never ready, so there are no updates. The run therefore reaches total_timesteps,
// but not max_updates.
TEST(OnlineTrainer, TheReasonIsTheLimitThatWasReached) {
  OnlineTraining t;
  NeverReady never;
  t.online_sampler = &never;
  t.online.length = 10;
  t.limits.max_updates = 5;
  EXPECT_EQ(t.run().stop_reason, "total_timesteps");
}

TEST(OnlineTrainer, CollectsOnWhileThereIsNothingToDraw) {
  OnlineTraining t;
  NeverReady never;
  t.online_sampler = &never;
  t.online.length = 10;
  const auto summary = t.run();
  EXPECT_EQ(summary.update_count, 0);
  EXPECT_EQ(summary.global_step, 10);
}

TEST(UpdateRhythm, CountsTheUpdatesOfAWholePhase) {
  PhaseSpec phase{.name = "online", .source = PhaseSpec::Source::replay, .length = 1000};
  phase.collect.learning_starts = 0;
  const auto updates_until = [&](int64_t step) { return UpdateRhythm(phase).updates_until(step); };
  EXPECT_EQ(updates_until(0), 0);
  EXPECT_EQ(updates_until(1000), 1000);
  phase.collect.learning_starts = 100;
  EXPECT_EQ(updates_until(99), 0);
  EXPECT_EQ(updates_until(100), 1);
  EXPECT_EQ(updates_until(1000), 901);
  phase.collect.train_frequency = 30;
  EXPECT_EQ(updates_until(119), 0);
  EXPECT_EQ(updates_until(120), 1);
  phase.collect.gradient_updates_per_step = 5;
  EXPECT_EQ(updates_until(150), 10);
  phase.warmup_steps = 160;  // has the same effect as learning_starts
  EXPECT_EQ(updates_until(150), 0);
  const auto budget = plan_budget({}, {{.name = "offline", .length = 7}, phase}, 100, 32);
  EXPECT_EQ(budget.updates, 7 + updates_until(1000));
  EXPECT_EQ(budget.epoch_updates, 4);
}

}  // namespace
}  // namespace rl_training::test_online_trainer
