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
#include "rl_training/runtime/validator.h"

namespace rl_training {

struct TrainerOptions {
  Budget budget;
  ScheduleSpec schedule;
  EarlyStoppingOptions early_stopping;
  // What decides which checkpoint is the best.
  std::string best_metric = "eval_return_mean";
  EarlyStoppingOptions::Mode best_mode = EarlyStoppingOptions::Mode::max;
  double learning_rate = 0.0;  // reported beside lr_scale
  int64_t dataset_size = 0;
  // Mean target values beyond it are warned about, see plausible_value; 0: never.
  double value_limit = 0.0;
  // Counted as the phases are: in updates or in environment steps.
  int64_t eval_interval = 5000, log_interval = 100, checkpoint_interval = 5000;
};

// What a run leaves behind; experiment/ writes it to a run directory.
class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual void log(const Json& row) = 0;
  // Saves the state as it is after that step; `best` when no evaluation was better so far.
  virtual void checkpoint(int64_t step, bool best) = 0;
  virtual void warn(const std::string& line) = 0;
  // A phase other than the last is over; its end is to be kept.
  virtual void phase_end(int64_t /*step*/, const std::string& /*phase*/) {}
};

// The parts that take turns in the loop. Not owned.
struct TrainerParts {
  Algorithm* algorithm = nullptr;
  std::vector<Phase*> phases;            // in order
  Batch batch;                           // memory that the samplers fill
  const Evaluator* evaluator = nullptr;  // null: no evaluation
  const Validator* validator = nullptr;  // null: nothing is held out
  const ObsNormalizer* normalizer = nullptr;
  ProcessGroup* processes = nullptr;  // null: this process trains alone
};

// The one training loop: it runs the phases one after the other, and logs, evaluates, writes
// checkpoints and looks for early stops, signals and values that are not finite on the way.
class Trainer {
 public:
  Trainer(TrainerParts parts, TrainerOptions options);

  // From the present state to the end of the budget, an early stop, or a request to stop.
  TrainSummary run(RunSink& sink, const Callbacks& callbacks, StopRequests* requests = nullptr);
  int64_t update_count() const { return update_; }
  // The key of a limit other than the run's length that has ended it; "": none has.
  std::string ended_by() const;
  // Where the loop stands: the steps made in all phases, each in its own unit. Checkpoints are
  // named by it.
  int64_t position() const;
  // The loop's own counters; the owner of the parts visits those.
  void visit_state(StateVisitor& state);

 private:
  TrainProgress progress() const;
  int64_t global_step() const;
  int64_t length() const;        // the position at which all phases are finished
  size_t current_phase() const;  // the first that is not finished, or the last one
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
  ScheduleSpec constant_;  // the schedule without its shape
  EarlyStopping early_stopping_;
  const StopRequests* requests_ = nullptr;  // of the present run(), may be null
  int64_t update_ = 0;
  int64_t previous_position_ = 0;
  bool ended_by_callback_ = false;     // in the present run()
  bool warned_of_divergence_ = false;  // once in a session
  bool evaluated_before_training_ = false;
  bool has_best_ = false;
  double best_ = 0.0;  // of options_.best_metric
  // A row whose evaluation a signal interrupted; the evaluation is repeated on resume.
  std::string waiting_row_;
  Json last_ = Json::object();  // a finished run that is resumed reports the same metrics
};

}  // namespace rl_training
