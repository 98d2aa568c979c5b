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
  std::vector<int64_t> update_steps;  // environment steps done when each update happened
  std::vector<int64_t> positions;

  OnlineTraining() {
    options.eval_interval = options.log_interval = options.checkpoint_interval = 1000;
  }

  TrainSummary run() {
    CountingTask::add_to_table();
    ReplayBuffer buffer(50, 1, 1, envs);
    Collector collector(VectorEnv(CountingTask::kId, envs, 0, "env", nullptr), buffer, algorithm,
                        normalizer, {}, Rng(0));
    options.budget = plan_online_budget(limits, options.online, 50, 10);
    TrainerParts parts;
    parts.algorithm = &algorithm;
    parts.sampler = &dataset;
    parts.collector = &collector;
    parts.online_sampler = online_sampler;
    MixtureSampler mixture(dataset, replay, ratio, Rng(1));
    parts.mixture = &mixture;
    parts.batch = Batch::allocate(10, 1, 1, false);
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
  t.options.online.env_steps = 8;
  t.options.online.first_update_step = 5;
  const auto summary = t.run();
  EXPECT_EQ(t.update_steps, (Steps{5, 6, 7, 8}));
  EXPECT_EQ(summary.update_count, 4);
  EXPECT_EQ(summary.global_step, 8);
  EXPECT_EQ(summary.stop_reason, "total_timesteps");
  EXPECT_EQ(t.replay.batches, 4);
  EXPECT_EQ(t.dataset.batches, 0);
  EXPECT_EQ(t.algorithm.online_starts, 0);  // nothing came before
}

TEST(OnlineTrainer, BlocksComeAtMultiplesOfTheFrequency) {
  OnlineTraining t;
  t.options.online.env_steps = 14;
  t.options.online.first_update_step = 5;
  t.options.online.train_frequency = 4;
  t.options.online.gradient_updates_per_step = 3;
  t.run();
  EXPECT_EQ(t.update_steps, (Steps{8, 8, 8, 12, 12, 12}));
}

TEST(OnlineTrainer, WaitsForTheRowsThatMustBeThere) {
  OnlineTraining t;
  t.options.online.env_steps = 9;
  t.options.online.first_update_step = 3;
  t.options.online.min_rows = 7;
  t.run();
  EXPECT_EQ(t.update_steps, (Steps{7, 8, 9}));
}

TEST(OnlineTrainer, EveryEnvironmentsStepsCount) {
  OnlineTraining t;
  t.envs = 3;
  t.options.online.env_steps = 12;
  t.options.online.train_frequency = 2;
  t.options.online.gradient_updates_per_step = 2;
  const auto summary = t.run();
  EXPECT_EQ(t.update_steps, (Steps{3, 3, 6, 6, 6, 6, 9, 9, 12, 12, 12, 12}));
  EXPECT_EQ(summary.global_step, 12);
}

TEST(OnlineTrainer, PretrainsFromTheDatasetThenGoesOnline) {
  OnlineTraining t;
  t.options.online.env_steps = 4;
  t.options.online.pretrain_updates = 3;
  t.ratio = 0.6;
  t.options.log_interval = 2;
  t.options.checkpoint_interval = 4;
  const auto summary = t.run();
  EXPECT_EQ(t.update_steps, (Steps{0, 0, 0, 1, 2, 3, 4}));
  EXPECT_EQ(t.positions, (Steps{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(t.dataset.batches, 3);
  EXPECT_EQ(t.replay.batches, 4);
  EXPECT_EQ(t.algorithm.online_starts, 1);
  EXPECT_EQ(t.algorithm.planned_online_updates, 4);
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
  t.options.online.env_steps = 100;
  t.options.online.first_update_step = 2;
  t.options.online.gradient_updates_per_step = 4;
  t.limits.max_updates = 6;
  const auto summary = t.run();
  EXPECT_EQ(t.update_steps, (Steps{2, 2, 2, 2, 3, 3}));
  EXPECT_EQ(summary.stop_reason, "max_updates");
  EXPECT_EQ(summary.global_step, 3);
  EXPECT_EQ(t.sink.events.back(), "checkpoint 3");
}

TEST(OnlineTrainer, AnEpochIsABufferInBatches) {
  OnlineTraining t;
  t.options.online.env_steps = 100;
  t.limits.max_epochs = 2;  // of 50 / 10 updates
  const auto summary = t.run();
  EXPECT_EQ(summary.update_count, 10);
  EXPECT_EQ(summary.stop_reason, "max_epochs");
  EXPECT_EQ(t.sink.rows.back()["epoch"], 2);
}

// Half of it for the updates from data, then the rate it began with.
TEST(OnlineTrainer, TheScheduleIsOfTheOfflineRunBefore) {
  OnlineTraining t;
  t.options.schedule = {.type = "linear", .start = 0.8, .end = 0.0};
  t.options.online.env_steps = 3;
  t.options.online.pretrain_updates = 4;
  t.options.online.after_offline = true;
  t.run();
  const std::vector<double> expected = {0.8, 0.6, 0.4, 0.2, 0.8, 0.8, 0.8};
  ASSERT_EQ(t.algorithm.lr_scales.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(t.algorithm.lr_scales[i], expected[i], 1e-12) << i;
  }
  EXPECT_NEAR(t.sink.rows.back()["lr_scale"].get<double>(), 0.8, 1e-12);  // what was used
}

// Also a warm-up that was longer than that.
TEST(OnlineTrainer, TheWarmUpIsOfTheOfflineRunBefore) {
  OnlineTraining t;
  t.options.schedule.warmup_steps = 4;
  t.options.online.env_steps = 2;
  t.options.online.pretrain_updates = 2;
  t.options.online.after_offline = true;
  t.run();
  EXPECT_EQ(t.algorithm.lr_scales, (std::vector<double>{0.25, 0.5, 1.0, 1.0}));
}

// RLPD's pre-training is a part of one run, and so is its share of the schedule.
TEST(OnlineTrainer, PretrainingSharesTheSchedule) {
  OnlineTraining t;
  t.options.schedule = {.type = "linear", .start = 1.0, .end = 0.0};
  t.options.online.env_steps = 2;
  t.options.online.pretrain_updates = 2;
  t.run();
  EXPECT_EQ(t.algorithm.lr_scales, (std::vector<double>{1.0, 0.75, 0.5, 0.25}));
}

// The steps end such a run, not the updates that were never made.
TEST(OnlineTrainer, TheReasonIsTheLimitThatWasReached) {
  OnlineTraining t;
  NeverReady never;
  t.online_sampler = &never;
  t.options.online.env_steps = 10;
  t.limits.max_updates = 5;
  EXPECT_EQ(t.run().stop_reason, "total_timesteps");
}

TEST(OnlineTrainer, CollectsOnWhileThereIsNothingToDraw) {
  OnlineTraining t;
  NeverReady never;
  t.online_sampler = &never;
  t.options.online.env_steps = 10;
  const auto summary = t.run();
  EXPECT_EQ(summary.update_count, 0);
  EXPECT_EQ(summary.global_step, 10);
}

TEST(OnlinePlan, CountsTheUpdatesOfAWholeRun) {
  OnlinePlan plan;
  plan.env_steps = 1000;
  EXPECT_EQ(plan.updates_until(0), 0);
  EXPECT_EQ(plan.updates_until(1000), 1000);
  plan.first_update_step = 100;
  EXPECT_EQ(plan.updates_until(99), 0);
  EXPECT_EQ(plan.updates_until(100), 1);
  EXPECT_EQ(plan.updates_until(1000), 901);
  plan.train_frequency = 30;
  EXPECT_EQ(plan.updates_until(119), 0);
  EXPECT_EQ(plan.updates_until(120), 1);
  plan.gradient_updates_per_step = 5;
  EXPECT_EQ(plan.updates_until(150), 10);
  const auto budget = plan_online_budget({}, plan, 100, 32);
  EXPECT_EQ(budget.updates, plan.updates_until(1000));
  EXPECT_EQ(budget.epoch_updates, 4);
  BudgetOptions options;
  options.min_buffer_size = 101;
  EXPECT_NO_THROW(plan_online_budget(options, plan, 100, 32));  // a matter of the config
  plan.after_offline = true;  // then it is the dataset that must have so many
  EXPECT_THROW(plan_online_budget(options, plan, 100, 32), Error);
  EXPECT_EQ(plan_online_budget(options, plan, 101, 32).epoch_updates, 4);
}

}  // namespace
}  // namespace rl_training::test_online_trainer
