#include <gtest/gtest.h>
#include <signal.h>

#include "tests/runtime/fakes.h"
#include "tests/support/memory_state.h"
#include "tests/support/metric_values.h"

namespace rl_training::test_trainer {
namespace {

using Events = std::vector<std::string>;

TEST(Trainer, DoesEverythingAtItsInterval) {
  FakeTraining t(12);
  t.options.log_interval = 5;
  t.options.checkpoint_interval = 6;
  const auto summary = t.run();
  EXPECT_EQ(t.sink.events, (Events{"log 5", "checkpoint 6", "log 10", "log 12", "checkpoint 12"}));
  EXPECT_EQ(summary.update_count, 12);
  EXPECT_EQ(summary.global_step, 12);
  EXPECT_EQ(summary.stop_reason, "total_timesteps");
  EXPECT_EQ(t.sampler.batches, 12);
  EXPECT_EQ(t.algorithm.lr_scales, std::vector<double>(12, 1.0));
}

TEST(Trainer, EvaluatesBeforeTheFirstAndAfterTheLastUpdate) {
  FakeTraining t(7);
  t.evaluate_every(3);
  // The return is 30 * action: 3 steps with the reward 10 * action.
  t.algorithm.action = [](int64_t update) { return update == 3 ? 0.2f : 0.1f * update; };
  const auto summary = t.run();
  EXPECT_EQ(t.sink.events, (Events{"log 0", "log 3", "checkpoint 3 best", "log 6",
                                   "checkpoint 6 best", "log 7", "checkpoint 7 best"}));
  EXPECT_FALSE(t.sink.rows[0].contains("loss"));
  EXPECT_EQ(t.sink.rows[0]["eval_return_mean"], 0.0);
  EXPECT_NEAR(t.sink.rows[1]["eval_return_mean"].get<double>(), 6.0, 1e-5);
  EXPECT_EQ(t.sink.rows[1]["eval_return_std"], 0.0);
  EXPECT_EQ(t.sink.rows[1]["eval_length_mean"], 3.0);
  EXPECT_NEAR(summary.metrics["eval_return_mean"].get<double>(), 21.0, 1e-5);
}

TEST(Trainer, OnlyABetterReturnIsTheBest) {
  FakeTraining t(4);
  t.evaluate_every(1);
  // The evaluation before training does not count as a best evaluation.
  const float actions[] = {0.9f, 0.3f, 0.3f, 0.2f, 0.4f};
  t.algorithm.action = [&](int64_t update) { return actions[update]; };
  t.run();
  EXPECT_EQ(t.sink.events, (Events{"log 0", "log 1", "checkpoint 1 best", "log 2", "log 3", "log 4",
                                   "checkpoint 4 best"}));
}

TEST(Trainer, RowsHoldTheNamedNumbers) {
  FakeTraining t(6);
  t.options.log_interval = 2;
  t.options.schedule = {.type = ScheduleSpec::Type::linear, .start = 1, .end = 0};
  const auto summary = t.run();
  std::vector<std::string> keys;
  for (const auto& [key, value] : t.sink.rows[0].items()) keys.push_back(key);
  EXPECT_EQ(keys, (Events{"global_step", "update_count", "epoch", "learning_rate", "lr_scale",
                          "dataset_size", "loss", "late"}));
  const auto& row = t.sink.rows[1];
  EXPECT_EQ(row["global_step"], 4);
  EXPECT_EQ(row["update_count"], 4);
  EXPECT_EQ(row["epoch"], 1);                            // an epoch has four updates
  EXPECT_DOUBLE_EQ(row["lr_scale"].get<double>(), 0.5);  // scale of the fourth update
  EXPECT_DOUBLE_EQ(row["learning_rate"].get<double>(), 0.25);
  EXPECT_EQ(row["dataset_size"], 77);
  EXPECT_EQ(row["loss"], 0.25);
  EXPECT_EQ(row["late"], 2.0);
  EXPECT_TRUE(t.sink.rows[0]["late"].is_null());
  EXPECT_EQ(t.sink.rows[0]["epoch"], 0);
  EXPECT_EQ(summary.metrics["update_count"], 6);
}

TEST(Trainer, StopReasonIsThatOfTheBudget) {
  FakeTraining t;
  t.options.budget = {3, 1, "max_epochs"};
  const auto summary = t.run();
  EXPECT_EQ(summary.update_count, 3);
  EXPECT_EQ(summary.stop_reason, "max_epochs");
  EXPECT_EQ(t.sink.rows.back()["epoch"], 3);
}

TEST(Trainer, StopsEarlyOnAMetric) {
  FakeTraining t(100);
  t.options.log_interval = 2;
  t.options.early_stopping.enabled = true;
  t.options.early_stopping.metric = "loss";
  t.options.early_stopping.mode = EarlyStoppingOptions::Mode::min;
  t.options.early_stopping.patience = 3;
  t.algorithm.loss = [](int64_t update) { return update < 7 ? 1.0f / update : 1.0f; };
  const auto summary = t.run();
  EXPECT_EQ(summary.stop_reason, "early_stopping");
  EXPECT_EQ(summary.update_count, 12);  // best at 6; no progress at 8, 10 and 12
  EXPECT_EQ(t.sink.events.back(), "checkpoint 12");
  // Another call of run() performs no updates and reports the same result.
  EXPECT_EQ(t.run().stop_reason, "early_stopping");
  EXPECT_EQ(t.sampler.batches, 12);
}

TEST(Trainer, StopsEarlyOnTheReturnAndKeepsIt) {
  FakeTraining t(100);
  t.evaluate_every(10);
  t.options.early_stopping.enabled = true;
  t.options.early_stopping.target_value = 11.9;
  t.algorithm.action = [](int64_t update) { return 0.01f * update; };
  const auto summary = t.run();
  EXPECT_EQ(summary.update_count, 40);
  EXPECT_EQ(t.sink.events.back(), "checkpoint 40 best");
}

TEST(Trainer, CallbacksComeInOrder) {
  FakeTraining t(4);
  t.evaluate_every(2);
  Events events;
  const auto note = [&](const char* what, int64_t update) {
    events.push_back(fmt::format("{} {}", what, update));
  };
  t.callbacks.on_train_start = [&](const TrainProgress& p) { note("start", p.update_count); };
  t.callbacks.on_update_end = [&](const TrainProgress& p, const Metrics& metrics) {
    EXPECT_EQ(p.length, 4);
    EXPECT_EQ(p.global_step, p.update_count);
    EXPECT_EQ(metric(metrics, "loss"), 1.0f / p.update_count);
    note("update", p.update_count);
  };
  t.callbacks.on_eval_end = [&](const TrainProgress& p, const EvaluationResult& result) {
    EXPECT_EQ(result.returns.size(), 2u);
    note("eval", p.update_count);
  };
  t.callbacks.on_collect_end = [&](const TrainProgress&) { ADD_FAILURE() << "only online"; };
  t.callbacks.on_train_end = [&](const TrainSummary& summary) {
    EXPECT_EQ(summary.stop_reason, "total_timesteps");
    note("end", summary.update_count);
  };
  t.run();
  EXPECT_EQ(events, (Events{"start 0", "eval 0", "update 1", "update 2", "eval 2", "update 3",
                            "update 4", "eval 4", "end 4"}));
}

TEST(Trainer, ARequestToStopEndsItWithACheckpoint) {
  FakeTraining t(100);
  t.callbacks.on_update_end = [&](const TrainProgress& progress, const Metrics&) {
    if (progress.update_count != 5) return;
    t.requests.request_stop(SIGTERM);
    t.requests.request_stop(SIGINT);
  };
  const auto summary = t.run();
  EXPECT_EQ(t.requests.stop(), SIGTERM);
  EXPECT_EQ(summary.stop_reason, "signal");
  EXPECT_EQ(summary.update_count, 5);
  EXPECT_EQ(t.sink.events, Events{"checkpoint 5"});
  EXPECT_EQ(t.trainer->run(t.sink, {}).update_count, 100);  // runs to the end without StopRequests
}

// A request after the last update has no effect, because the run is complete.
TEST(Trainer, ARequestAfterTheLastUpdateStopsNothing) {
  for (const int64_t at : {9, 10}) {
    FakeTraining t(10);
    t.callbacks.on_update_end = [&](const TrainProgress& progress, const Metrics&) {
      if (progress.update_count == at) t.requests.request_stop(SIGTERM);
    };
    const auto summary = t.run();
    EXPECT_EQ(summary.stop_reason, at == 10 ? "total_timesteps" : "signal");
    EXPECT_EQ(summary.update_count, at);
  }
}

TEST(Trainer, ACallbackSeesRowsAndMayEndIt) {
  FakeTraining t(100);
  t.options.log_interval = 4;
  Events seen;
  t.callbacks.on_row = [&](const TrainProgress& progress, const Json& row) {
    EXPECT_EQ(row["loss"].get<float>(), 1.0f / progress.update_count);
    seen.push_back(fmt::format("row {}", row["update_count"].get<int64_t>()));
    return progress.update_count < 8;
  };
  const auto summary = t.run();
  EXPECT_EQ(seen, (Events{"row 4", "row 8"}));
  EXPECT_EQ(summary.stop_reason, "callback");
  EXPECT_EQ(summary.update_count, 8);
  EXPECT_EQ(t.sink.events, (Events{"log 4", "log 8", "checkpoint 8"}));
  const auto rest = t.trainer->run(t.sink, {});  // resumes without the callback
  EXPECT_EQ(rest.stop_reason, "total_timesteps");
  EXPECT_EQ(rest.update_count, 100);
}

TEST(Trainer, ACallbackMayEndItBeforeTheFirstUpdate) {
  FakeTraining t(10);
  t.evaluate_every(5);
  t.callbacks.on_row = [](const TrainProgress&, const Json&) { return false; };
  const auto summary = t.run();
  EXPECT_EQ(summary.update_count, 0);
  EXPECT_EQ(summary.stop_reason, "callback");
  EXPECT_EQ(t.sink.events, (Events{"log 0", "checkpoint 0"}));
}

TEST(Trainer, ARequestedCheckpointDoesNotEndIt) {
  FakeTraining t(10);
  t.options.log_interval = 4;
  t.callbacks.on_update_end = [&](const TrainProgress& progress, const Metrics&) {
    if (progress.update_count == 4 || progress.update_count == 7) t.requests.request_checkpoint();
  };
  EXPECT_EQ(t.run().stop_reason, "total_timesteps");
  EXPECT_EQ(t.sink.events,
            (Events{"log 4", "checkpoint 4", "checkpoint 7", "log 8", "log 10", "checkpoint 10"}));
  // If a value is not finite, a requested checkpoint is not written.
  FakeTraining spoilt(10);
  spoilt.algorithm.spoil = [](int64_t update, float& parameter) {
    if (update == 3) parameter = NAN;
  };
  spoilt.callbacks.on_update_end = [&](const TrainProgress& progress, const Metrics&) {
    if (progress.update_count == 3) spoilt.requests.request_checkpoint();
  };
  EXPECT_THROW(spoilt.run(), Error);
  EXPECT_EQ(spoilt.sink.events, Events{});
}

// The signal arrives during each evaluation in turn, including the evaluation before training. The
// signal interrupts the evaluation, and the resumed run repeats the evaluation. The rows of both
// sessions together must therefore equal those of an uninterrupted run.
TEST(Trainer, ASignalDoesNotWaitForAnEvaluation) {
  const auto configure = [](FakeTraining& t) {
    t.evaluate_every(4);
    t.options.log_interval = 3;
    t.options.checkpoint_interval = 100;
    t.algorithm.action = [](int64_t update) { return 0.01f * static_cast<float>(update); };
  };
  FakeTraining straight(10);
  configure(straight);
  const auto expected = straight.run();
  for (const int64_t at : {0, 4, 8, 10}) {
    SCOPED_TRACE(at);
    FakeTraining first(10);
    configure(first);
    MemoryState saved;
    first.sink.on_checkpoint = [&] { saved.save(first); };
    first.algorithm.action = [&](int64_t update) {
      if (update == at) first.requests.request_stop(SIGINT);
      return 0.01f * static_cast<float>(update);
    };
    const auto stopped = first.run();
    EXPECT_EQ(stopped.stop_reason, "signal");
    EXPECT_EQ(stopped.update_count, at);
    for (const auto& row : first.sink.rows) EXPECT_NE(row["update_count"], at);
    FakeTraining second(10);
    configure(second);
    second.make_trainer();
    saved.restore(second);
    const auto summary = second.run();
    EXPECT_EQ(summary.stop_reason, expected.stop_reason);
    EXPECT_EQ(summary.metrics, expected.metrics);
    auto rows = first.sink.rows;
    rows.insert(rows.end(), second.sink.rows.begin(), second.sink.rows.end());
    EXPECT_EQ(rows, straight.sink.rows);
  }
}

// Checkpoints are not trusted: an invalid row is rejected before it is used.
TEST(Trainer, RowsInTheStateAreChecked) {
  class Writer final : public StateVisitor {
   public:
    Writer(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}

   protected:
    void on_array(const std::string&, DType, std::span<const int64_t>, void*) override {}
    void on_text(const std::string& name, std::string& value) override {
      if (name == name_) value = text_;
    }

   private:
    std::string name_, text_;
  };
  const auto refused = [](const char* name, const char* text, bool evaluator) {
    FakeTraining t(10);
    if (evaluator) t.evaluate_every(4);
    t.make_trainer();
    Writer writer(name, text);
    try {
      t.trainer->visit_state(writer);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::checkpoint);
      return true;
    }
    return false;
  };
  for (const char* text : {"nonsense", "[1]", "{}", R"({"update_count":"x"})"}) {
    EXPECT_TRUE(refused("waiting_row", text, true)) << text;
  }
  EXPECT_FALSE(refused("waiting_row", R"({"update_count":4})", true));
  // A waiting row is one whose evaluation was interrupted. A run without evaluations has none.
  EXPECT_TRUE(refused("waiting_row", R"({"update_count":4})", false));
  EXPECT_TRUE(refused("last_row", "nonsense", false));
  EXPECT_FALSE(refused("last_row", R"({"loss":1.5})", false));
}

// Configures a run that stops early and uses every part of the trainer's state.
void configure_eventful(FakeTraining& t) {
  t.evaluate_every(4);
  t.options.log_interval = 3;
  t.options.checkpoint_interval = 1;
  t.options.schedule = {.type = ScheduleSpec::Type::cosine, .warmup_steps = 5};
  t.options.early_stopping.enabled = true;
  t.options.early_stopping.patience = 3;
  t.algorithm.action = [](int64_t update) { return update <= 8 ? 0.05f * update : 0.1f; };
}

TEST(Trainer, GoesOnFromEveryCheckpoint) {
  FakeTraining straight(60);
  configure_eventful(straight);
  struct Saved {
    MemoryState state;
    size_t events, rows;
  };
  std::vector<Saved> saved;
  straight.sink.on_checkpoint = [&] {
    saved.push_back({{}, straight.sink.events.size(), straight.sink.rows.size()});
    saved.back().state.save(straight);
  };
  const auto expected = straight.run();
  EXPECT_EQ(expected.stop_reason, "early_stopping");
  EXPECT_EQ(expected.update_count, 20);  // best at 8; no progress at 12, 16 and 20
  ASSERT_EQ(saved.size(), 20u);

  for (auto& from : saved) {
    SCOPED_TRACE(straight.sink.events[from.events - 1]);
    FakeTraining resumed(60);
    configure_eventful(resumed);
    resumed.make_trainer();
    from.state.restore(resumed);
    const auto summary = resumed.run();
    EXPECT_EQ(resumed.sink.events,
              Events(straight.sink.events.begin() + from.events, straight.sink.events.end()));
    EXPECT_EQ(resumed.sink.rows,
              std::vector<Json>(straight.sink.rows.begin() + from.rows, straight.sink.rows.end()));
    EXPECT_EQ(summary.stop_reason, expected.stop_reason);
    EXPECT_EQ(summary.metrics, expected.metrics);
    MemoryState end;
    end.save(resumed);
    EXPECT_EQ(end.parts(), saved.back().state.parts());
  }
}

}  // namespace
}  // namespace rl_training::test_trainer
