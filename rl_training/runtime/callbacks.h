#pragma once
#include <functional>
#include <string>

#include "rl_training/algorithms/algorithm.h"
#include "rl_training/runtime/evaluator.h"
#include "rl_training/util/json.h"

namespace rl_training {

struct TrainProgress {
  int64_t update_count = 0;
  // Results of Trainer::position() and Trainer::length(). Offline phases count updates, and other
  // phases count environment steps.
  int64_t position = 0, length = 0;
  int64_t global_step = 0;
};

struct TrainSummary {
  int64_t update_count = 0, global_step = 0;
  // One of total_timesteps, max_updates, max_epochs, early_stopping, signal, callback.
  std::string stop_reason;
  // Signal that stopped the run; 0 if none. Any process of the run may have received it.
  int signal = 0;
  Json metrics = Json::object();  // the last value of each metric
};

// Callbacks of the training loop. Each callback may be empty. Callbacks observe training and cannot
// change its results, but `on_row` can end training.
struct Callbacks {
  std::function<void(const TrainProgress&)> on_train_start;
  // Called after each step of the environments, so never in an offline phase.
  std::function<void(const TrainProgress&)> on_collect_end;
  std::function<void(const TrainProgress&, const Metrics&)> on_update_end;
  std::function<void(const TrainProgress&, const EvaluationResult&)> on_eval_end;
  std::function<void(const TrainProgress&, const ValidationMetrics&)> on_validation_end;
  // Called for each row of metrics after it has been logged. Returning false ends training with a
  // checkpoint, from which training can be resumed.
  std::function<bool(const TrainProgress&, const Json& row)> on_row;
  std::function<void(const TrainSummary&)> on_train_end;
};

}  // namespace rl_training
