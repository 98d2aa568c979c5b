#pragma once
#include <memory>

#include "rl_training/data/batch.h"
#include "rl_training/runtime/agreed_requests.h"
#include "rl_training/runtime/budget.h"
#include "rl_training/runtime/callbacks.h"
#include "rl_training/runtime/early_stopping.h"
#include "rl_training/runtime/evaluator.h"
#include "rl_training/runtime/phase.h"
#include "rl_training/runtime/schedule.h"
#include "rl_training/runtime/thread_choice.h"
#include "rl_training/runtime/validator.h"

namespace rl_training {

struct TrainerOptions {
  Budget budget;
  ScheduleSpec schedule;
  EarlyStoppingOptions early_stopping;
  // Metric that decides which checkpoint is the best.
  std::string best_metric = "eval_return_mean";
  EarlyStoppingOptions::Mode best_mode = EarlyStoppingOptions::Mode::max;
  double learning_rate = 0.0;  // reported after multiplication by lr_scale
  int64_t dataset_size = 0;
  // Larger mean target values cause a warning (see plausible_value). 0 disables the warning.
  double value_limit = 0.0;
  // Intervals in the unit of the phase: updates or environment steps.
  int64_t eval_interval = 5000, log_interval = 100, checkpoint_interval = 5000;
};

// Receives the output of the loop. The class Run writes it to a run directory.
class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual void log(const Json& row) = 0;
  // Saves the state at position `step` of the run. `best` is true if the latest evaluation is the
  // best so far.
  virtual void checkpoint(int64_t step, bool best) = 0;
  virtual void warn(const std::string& line) = 0;
  // Called at the end of every phase except the last, at position `step` of the run. The sink
  // should save a checkpoint that is not deleted later.
  virtual void phase_end(int64_t /*step*/, const std::string& /*phase*/) {}
};

// The parts of the loop. Pointers are not owned.
struct TrainerParts {
  Algorithm* algorithm = nullptr;
  std::vector<Phase*> phases;            // in order
  Batch batch;                           // memory that the samplers fill
  const Evaluator* evaluator = nullptr;  // null: no evaluation
  const Validator* validator = nullptr;  // null: no held-out episodes
  const ObsNormalizer* normalizer = nullptr;
  ProcessGroup* processes = nullptr;  // null: single process
  ThreadPool* tuned_pool = nullptr;   // null: the number of threads is fixed
};

// The training loop: runs the phases in order, logs, evaluates, writes checkpoints, and checks for
// early stops, signals and values that are not finite.
class Trainer {
 public:
  Trainer(TrainerParts parts, TrainerOptions options);

  // Runs from the current state until the budget ends, early stopping occurs or a stop is
  // requested.
  TrainSummary run(RunSink& sink, const Callbacks& callbacks, StopRequests* requests = nullptr);
  int64_t update_count() const { return update_; }
  // Reason other than total_timesteps for which the run ended: early_stopping, max_updates or
  // max_epochs. "" if there is none.
  std::string ended_by() const;
  // Position of the run: the sum over all phases, each in its own unit. A checkpoint is named after
  // the position at which it was written.
  int64_t position() const;
  int64_t length() const;  // position at the planned end of the run
  // Whether the run is complete, including any evaluation that a signal interrupted.
  bool finished() const { return spent() && waiting_row_.empty(); }
  // Visits only the loop's own state; the owner visits the parts.
  void visit_state(StateVisitor& state);

 private:
  TrainProgress progress() const;
  int64_t global_step() const;
  size_t current_phase() const;  // the first unfinished phase; the last phase if all are finished
  bool spent() const;
  bool due(int64_t interval) const;
  double lr_scale(size_t phase) const;
  void keep_phase_end(RunSink& sink) const;
  Metrics advance(const Callbacks& callbacks);
  Metrics update(size_t phase, Sampler& sampler, const Callbacks& callbacks);
  void add_phase_metrics(Json& row);
  Json make_row(const Metrics& metrics, double lr_scale) const;
  void check_health(const Json& row) const;
  void warn_of_divergence(const Json& row, RunSink& sink);
  bool evaluates() const { return parts_.evaluator != nullptr || parts_.validator != nullptr; }
  std::optional<bool> evaluate(Json& row, const Callbacks& callbacks);
  bool evaluate_before_training(RunSink& sink, const Callbacks& callbacks);
  void remember(const Json& row, RunSink& sink, const Callbacks& callbacks);
  void log(Json& row, RunSink& sink, const Callbacks& callbacks);

  TrainerParts parts_;
  TrainerOptions options_;
  ScheduleSpec constant_;  // `options_.schedule` with a constant multiplier
  EarlyStopping early_stopping_;
  ThreadChoice threads_;
  const StopRequests* requests_ = nullptr;  // of the current run(), may be null
  int64_t update_ = 0;
  int64_t previous_position_ = 0;
  bool ended_by_callback_ = false;     // whether a callback ended the current run()
  bool warned_of_divergence_ = false;  // not saved, so a resumed run may warn again
  bool evaluated_before_training_ = false;
  bool has_best_ = false;
  double best_ = 0.0;  // best value of options_.best_metric so far
  // A row whose evaluation a signal interrupted; the evaluation is repeated on resume.
  std::string waiting_row_;
  Json last_ = Json::object();  // latest metrics, reported again if a finished run is resumed
};

}  // namespace rl_training
