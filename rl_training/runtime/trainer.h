#pragma once
#include <memory>

#include "rl_training/data/batch.h"
#include "rl_training/runtime/budget.h"
#include "rl_training/runtime/callbacks.h"
#include "rl_training/runtime/early_stopping.h"
#include "rl_training/runtime/evaluator.h"
#include "rl_training/runtime/schedule.h"

namespace rl_training {

struct TrainerOptions {
  Budget budget;
  ScheduleSpec schedule;
  EarlyStoppingOptions early_stopping;
  double learning_rate = 0.0;  // reported beside lr_scale
  int64_t dataset_size = 0;
  int64_t eval_interval = 5000, log_interval = 100, checkpoint_interval = 5000;
};

// What a run leaves behind; experiment/ writes it to a run directory.
class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual void log(const Json& row) = 0;
  // Saves the state as it is after that update; `best` when no evaluation was better so far.
  virtual void checkpoint(int64_t update, bool best) = 0;
};

// The parts that take turns in the loop. Not owned.
struct TrainerParts {
  Algorithm* algorithm = nullptr;
  Sampler* sampler = nullptr;
  Batch batch;                           // buffers that the sampler fills
  const Evaluator* evaluator = nullptr;  // null: no evaluation
  const ObsNormalizer* normalizer = nullptr;
};

// The one training loop.
class Trainer {
 public:
  Trainer(TrainerParts parts, TrainerOptions options);

  // From the present state to the end of the budget, an early stop, or a signal.
  TrainSummary run(RunSink& sink, const Callbacks& callbacks);
  int64_t update_count() const { return update_; }
  // The loop's own counters; the parts are visited by whoever owns them.
  void visit_state(StateVisitor& state);

 private:
  TrainProgress progress() const;
  bool due(int64_t interval) const;
  Json make_row(const Metrics& metrics, double lr_scale) const;
  void check_health(const Json& row) const;
  bool evaluate(Json& row, const Callbacks& callbacks);

  TrainerParts parts_;
  TrainerOptions options_;
  EarlyStopping early_stopping_;
  int64_t update_ = 0;
  bool evaluated_before_training_ = false;
  bool has_best_ = false;
  double best_return_ = 0.0;
  std::string last_row_;  // JSON text: a finished run that is resumed reports the same metrics
};

}  // namespace rl_training
