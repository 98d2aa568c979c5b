#include "rl_training/runtime/trainer.h"

#include <cmath>

#include "rl_training/runtime/health.h"
#include "rl_training/runtime/stop_signal.h"

namespace rl_training {

Trainer::Trainer(TrainerParts parts, TrainerOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      early_stopping_(options_.early_stopping) {}

TrainProgress Trainer::progress() const { return {update_, options_.budget.updates, update_}; }

bool Trainer::due(int64_t interval) const {
  return update_ % interval == 0 || update_ == options_.budget.updates;
}

TrainSummary Trainer::run(RunSink& sink, const Callbacks& callbacks) {
  TrainSummary summary;
  Json last = last_row_.empty() ? Json::object() : Json::parse(last_row_);
  const auto remember = [&](const Json& row) {
    last.update(row);
    last_row_ = last.dump();
    sink.log(row);
  };
  if (callbacks.on_train_start) callbacks.on_train_start(progress());
  if (!evaluated_before_training_ && parts_.evaluator != nullptr) {
    Json row = make_row({}, resolve_schedule_value(options_.schedule, 0, options_.budget.updates));
    evaluate(row, callbacks);
    remember(row);
  }
  evaluated_before_training_ = true;

  while (update_ < options_.budget.updates && !early_stopping_.stopped()) {
    const double lr_scale =
        resolve_schedule_value(options_.schedule, update_, options_.budget.updates);
    parts_.sampler->sample(parts_.batch.view());
    const Metrics metrics = parts_.algorithm->update(parts_.batch, lr_scale);
    ++update_;
    if (callbacks.on_update_end) callbacks.on_update_end(progress(), metrics);

    bool best = false;
    const bool evaluation_due = parts_.evaluator != nullptr && due(options_.eval_interval);
    const bool log_due = due(options_.log_interval) || evaluation_due;
    const bool checkpoint_due = due(options_.checkpoint_interval);
    if (log_due || checkpoint_due) {
      Json row = make_row(metrics, lr_scale);
      check_health(row);
      if (evaluation_due) best = evaluate(row, callbacks);
      if (log_due) {
        const auto& metric = early_stopping_.options().metric;
        if (row.contains(metric) && row[metric].is_number()) {
          early_stopping_.observe(row[metric].get<double>(), update_);
        }
        remember(row);
      }
    }
    const bool stop = StopSignal::received() != 0;
    if (stop && !log_due && !checkpoint_due) check_health(make_row(metrics, lr_scale));
    if (checkpoint_due || best || stop || early_stopping_.stopped()) {
      sink.checkpoint(update_, best);
    }
    if (stop) {
      summary.stop_reason = "signal";
      break;
    }
  }
  if (summary.stop_reason.empty()) {
    summary.stop_reason = early_stopping_.stopped() ? "early_stopping" : options_.budget.reason;
  }
  summary.update_count = update_;
  summary.global_step = update_;
  summary.metrics = last;
  if (callbacks.on_train_end) callbacks.on_train_end(summary);
  return summary;
}

Json Trainer::make_row(const Metrics& metrics, double lr_scale) const {
  Json row = Json::object();
  row["global_step"] = update_;
  row["update_count"] = update_;
  row["epoch"] = update_ / options_.budget.epoch_updates;
  row["learning_rate"] = options_.learning_rate * lr_scale;
  row["lr_scale"] = lr_scale;
  row["dataset_size"] = options_.dataset_size;
  for (const auto& [name, value] : metrics.values()) {
    row[name] = value.defined() ? Json(value.item<double>()) : Json(nullptr);
  }
  return row;
}

// A loss or a network that is no longer finite ends the run before it can reach a checkpoint.
void Trainer::check_health(const Json& row) const {
  std::string bad;
  for (const auto& [name, value] : row.items()) {
    if (value.is_number_float() && !std::isfinite(value.get<double>())) bad = name;
    if (!bad.empty()) break;
  }
  if (bad.empty()) bad = first_nonfinite(*parts_.algorithm);
  if (bad.empty()) return;
  throw Error(ErrorKind::diverged, {"", 0, bad},
              "not finite at update " + std::to_string(update_) +
                  "; training stopped, the last good checkpoint is kept (expected finite losses "
                  "and parameters: try a smaller learning_rate or check the rewards)");
}

// True when this is the best return so far.
bool Trainer::evaluate(Json& row, const Callbacks& callbacks) {
  const auto result = parts_.evaluator->run(*parts_.algorithm, *parts_.normalizer);
  row["eval_return_mean"] = json_number(result.return_mean);
  row["eval_return_std"] = json_number(result.return_std);
  row["eval_length_mean"] = json_number(result.length_mean);
  if (result.normalized_score) row["normalized_score"] = json_number(*result.normalized_score);
  if (callbacks.on_eval_end) callbacks.on_eval_end(progress(), result);
  if (update_ == 0) return false;
  const bool best = !has_best_ || result.return_mean > best_return_;
  if (best) best_return_ = result.return_mean;
  has_best_ = true;
  return best;
}

void Trainer::visit_state(StateVisitor& state) {
  state.part("early_stopping", early_stopping_);
  state.scalar("update_count", update_);
  state.scalar("evaluated_before_training", evaluated_before_training_);
  state.scalar("has_best", has_best_);
  state.scalar("best_return", best_return_);
  state.text("last_row", last_row_);
}

}  // namespace rl_training
