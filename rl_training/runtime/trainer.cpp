#include "rl_training/runtime/trainer.h"

#include <cmath>

#include "rl_training/runtime/health.h"

namespace rl_training {
namespace {

// A row as a checkpoint has it, which may be anybody's.
Json read_row(const char* name, const std::string& text) {
  Json row = parse_untrusted_json(text);
  const bool counted = !row.contains("update_count") || row["update_count"].is_number_integer();
  if (row.is_object() && counted) return row;
  throw Error(ErrorKind::checkpoint, {"", 0, std::string("trainer.") + name},
              "not a row of metrics");
}

}  // namespace

Trainer::Trainer(TrainerParts parts, TrainerOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      constant_(options_.schedule),
      early_stopping_(options_.early_stopping) {
  constant_.type = "constant";
  constant_.warmup_steps = 0;
}

int64_t Trainer::global_step() const {
  return parts_.collector == nullptr ? update_ : parts_.collector->steps();
}

int64_t Trainer::position() const {
  if (parts_.collector == nullptr) return update_;
  return std::min(update_, options_.online.pretrain_updates) + parts_.collector->steps();
}

int64_t Trainer::length() const {
  if (parts_.collector == nullptr) return options_.budget.updates;
  return options_.online.pretrain_updates + options_.budget.env_steps;
}

bool Trainer::spent() const {
  if (position() >= length()) return true;
  return !ended_by().empty();
}

std::string Trainer::ended_by() const {
  if (early_stopping_.stopped()) return "early_stopping";
  const auto& budget = options_.budget;
  return update_ >= budget.updates && budget.reason != "total_timesteps" ? budget.reason : "";
}

TrainProgress Trainer::progress() const { return {update_, position(), length(), global_step()}; }

// Whether the last advance reached or passed a multiple of the interval.
bool Trainer::due(int64_t interval) const {
  return position() / interval > previous_position_ / interval || spent();
}

// After an offline run, which had the schedule to itself, the rate is again the one it began with.
double Trainer::lr_scale() const {
  const auto& plan = options_.online;
  if (!plan.after_offline) {
    return resolve_schedule_value(options_.schedule, update_, options_.budget.updates);
  }
  if (update_ >= plan.pretrain_updates) return resolve_schedule_value(constant_, update_, 0);
  return resolve_schedule_value(options_.schedule, update_,
                                std::min(plan.pretrain_updates, options_.budget.updates));
}

bool Trainer::pretraining() const {
  return parts_.collector != nullptr && update_ < options_.online.pretrain_updates;
}

Metrics Trainer::update(Sampler& sampler, const Callbacks& callbacks) {
  sampler.sample(parts_.batch.view());
  auto metrics = parts_.algorithm->update(parts_.batch, lr_scale());
  ++update_;
  if (callbacks.on_update_end) callbacks.on_update_end(progress(), metrics);
  return metrics;
}

// Offline and in pre-training one update; online one step of the environments and the updates that
// are due after it.
Metrics Trainer::advance(const Callbacks& callbacks) {
  previous_position_ = position();
  if (parts_.collector == nullptr || pretraining()) return update(*parts_.sampler, callbacks);
  auto& collector = *parts_.collector;
  const auto& plan = options_.online;
  if (collector.steps() == 0 && plan.pretrain_updates > 0) {
    parts_.algorithm->start_online(options_.budget.updates - update_);
  }
  const int64_t before = plan.updates_until(collector.steps());
  collector.step();
  if (callbacks.on_collect_end) callbacks.on_collect_end(progress());
  int64_t left = plan.updates_until(collector.steps()) - before;
  Metrics metrics;
  if (!parts_.online_sampler->ready()) return metrics;
  left = std::min(left, options_.budget.updates - update_);
  for (; left > 0; --left) metrics = update(*parts_.online_sampler, callbacks);
  return metrics;
}

// False when a signal cut it short.
bool Trainer::evaluate_before_training(RunSink& sink, const Callbacks& callbacks) {
  if (!evaluated_before_training_ && parts_.evaluator != nullptr) {
    Json row = make_row({}, lr_scale());
    if (!evaluate(row, callbacks)) return false;
    remember(row, sink);
  }
  evaluated_before_training_ = true;
  return true;
}

void Trainer::remember(const Json& row, RunSink& sink) {
  last_.update(row);
  sink.log(row);
}

void Trainer::log(Json& row, RunSink& sink) {
  add_online_columns(row);
  const auto& metric = early_stopping_.options().metric;
  if (row.contains(metric) && row[metric].is_number()) {
    early_stopping_.observe(row[metric].get<double>(), position());
  }
  remember(row, sink);
}

TrainSummary Trainer::run(RunSink& sink, const Callbacks& callbacks, StopRequests* requests) {
  requests_ = requests;
  if (callbacks.on_train_start) callbacks.on_train_start(progress());
  bool stop = !evaluate_before_training(sink, callbacks);
  if (stop) sink.checkpoint(position(), /*best=*/false);

  while (!stop && (!spent() || !waiting_row_.empty())) {
    const bool waited = !waiting_row_.empty();
    const double scale = lr_scale();
    const Metrics metrics = waited ? Metrics() : advance(callbacks);

    bool best = false;
    const bool evaluation_due =
        waited || (parts_.evaluator != nullptr && due(options_.eval_interval));
    const bool log_due = due(options_.log_interval) || evaluation_due;
    const bool checkpoint_due = waited || due(options_.checkpoint_interval);
    if (log_due || checkpoint_due) {
      Json row = waited ? Json::parse(waiting_row_) : make_row(metrics, scale);
      check_health(row);
      waiting_row_.clear();
      if (evaluation_due) {
        const auto result = evaluate(row, callbacks);
        if (!result) waiting_row_ = row.dump();
        best = result.value_or(false);
      }
      if (log_due && waiting_row_.empty()) log(row, sink);
    }
    stop = requests_ != nullptr && requests_->stop() != 0;
    const bool save_now = stop || (requests_ != nullptr && requests_->take_checkpoint());
    if (save_now && !log_due && !checkpoint_due) check_health(make_row(metrics, scale));
    if (checkpoint_due || best || save_now || early_stopping_.stopped()) {
      sink.checkpoint(position(), best);
    }
  }
  TrainSummary summary;
  const bool all_updates = update_ >= options_.budget.updates;
  summary.stop_reason = stop                        ? "signal"
                        : early_stopping_.stopped() ? "early_stopping"
                        : all_updates               ? options_.budget.reason
                                                    : "total_timesteps";
  summary.update_count = update_;
  summary.global_step = global_step();
  summary.metrics = last_;
  if (callbacks.on_train_end) callbacks.on_train_end(summary);
  return summary;
}

Json Trainer::make_row(const Metrics& metrics, double lr_scale) const {
  Json row = Json::object();
  row["global_step"] = global_step();
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

void Trainer::add_online_columns(Json& row) {
  if (parts_.collector == nullptr) return;
  auto& collector = *parts_.collector;
  row["buffer_size"] = collector.buffer().rows();
  row["episodes"] = collector.episodes();
  const auto mean = collector.take_mean_return();
  row["train_return_mean"] = mean ? json_number(*mean) : Json(nullptr);
  if (parts_.mixture == nullptr) return;
  const int64_t rows = parts_.batch.obs.size(0);
  const int64_t offline = pretraining() ? rows : parts_.mixture->first_rows(rows);
  row["pretrain_updates_done"] = std::min(update_, options_.online.pretrain_updates);
  row["offline_batch_size"] = offline;
  row["online_batch_size"] = rows - offline;
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

// True when this is the best return so far; nothing when a signal cut it short.
std::optional<bool> Trainer::evaluate(Json& row, const Callbacks& callbacks) {
  const auto result = parts_.evaluator->run(*parts_.algorithm, *parts_.normalizer, requests_);
  if (result.cut_short) return std::nullopt;
  row["eval_return_mean"] = json_number(result.return_mean);
  row["eval_return_std"] = json_number(result.return_std);
  row["eval_length_mean"] = json_number(result.length_mean);
  if (result.success_rate) row["eval_success_rate"] = json_number(*result.success_rate);
  if (result.normalized_score) row["normalized_score"] = json_number(*result.normalized_score);
  if (callbacks.on_eval_end) callbacks.on_eval_end(progress(), result);
  if (position() == 0) return false;
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
  state.text("waiting_row", waiting_row_);
  std::string last = last_.empty() ? "" : last_.dump();
  state.text("last_row", last);
  last_ = last.empty() ? Json::object() : read_row("last_row", last);
  if (waiting_row_.empty()) return;
  if (parts_.evaluator == nullptr ||
      !read_row("waiting_row", waiting_row_).contains("update_count")) {
    throw Error(ErrorKind::checkpoint, {"", 0, "trainer.waiting_row"}, "waits for no evaluation");
  }
}

}  // namespace rl_training
