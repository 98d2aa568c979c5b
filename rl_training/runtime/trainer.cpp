#include "rl_training/runtime/trainer.h"

#include <fmt/format.h>

#include <cmath>

#include "rl_training/runtime/health.h"

namespace rl_training {
namespace {

// Parses a row of metrics from a checkpoint. The text is not trusted.
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
      early_stopping_(options_.early_stopping),
      threads_(parts_.tuned_pool) {
  constant_.type = ScheduleSpec::Type::constant;
  constant_.warmup_steps = 0;
}

// Environment steps if the run collects, otherwise updates.
int64_t Trainer::global_step() const {
  int64_t steps = 0;
  bool collects = false;
  for (const Phase* phase : parts_.phases) {
    collects = collects || phase->spec().collects();
    steps += phase->env_steps();
  }
  return collects ? steps : update_;
}

int64_t Trainer::position() const {
  int64_t position = 0;
  for (const Phase* phase : parts_.phases) position += phase->step();
  return position;
}

// If the run consists of a single offline phase, its length is the tightest limit on updates.
int64_t Trainer::length() const {
  if (parts_.phases.size() == 1 && !parts_.phases.front()->spec().collects()) {
    return options_.budget.updates;
  }
  int64_t length = 0;
  for (const Phase* phase : parts_.phases) length += phase->spec().length;
  return length;
}

size_t Trainer::current_phase() const {
  size_t i = 0;
  while (i + 1 < parts_.phases.size() && parts_.phases[i]->finished()) ++i;
  return i;
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

// Whether the last advance reached or passed a multiple of the interval, or completed the run.
bool Trainer::due(int64_t interval) const {
  return position() / interval > previous_position_ / interval || spent();
}

double Trainer::lr_scale(size_t phase_index) const {
  const PhaseSpec& phase = parts_.phases[phase_index]->spec();
  const int64_t update = parts_.phases[phase_index]->scheduled_update(update_);
  switch (phase.schedule) {
    case PhaseSpec::Schedule::run:
      return resolve_schedule_value(options_.schedule, update, options_.budget.updates);
    case PhaseSpec::Schedule::phase:
      return resolve_schedule_value(options_.schedule, update,
                                    std::min(phase.length, options_.budget.updates));
    case PhaseSpec::Schedule::constant:
      break;
  }
  return resolve_schedule_value(constant_, update, 0);
}

Metrics Trainer::update(size_t phase, Sampler& sampler, const Callbacks& callbacks) {
  threads_.begin_update();
  sampler.sample(parts_.batch.view());
  auto metrics = parts_.algorithm->update(parts_.batch, lr_scale(phase));
  if (const auto priorities = parts_.algorithm->priorities(); priorities.defined()) {
    sampler.set_priorities({priorities.data_ptr<float>(), static_cast<size_t>(priorities.numel())});
  }
  threads_.end_update();
  ++update_;
  if (callbacks.on_update_end) callbacks.on_update_end(progress(), metrics);
  return metrics;
}

void Trainer::keep_phase_end(RunSink& sink) const {
  const size_t index = current_phase();
  if (index == 0 || parts_.phases[index]->step() > 0) return;
  sink.phase_end(position(), parts_.phases[index - 1]->spec().name);
}

// Advances the current phase. Returns the metrics of the last update of this call, or no metrics if
// the call ran no update.
Metrics Trainer::advance(const Callbacks& callbacks) {
  previous_position_ = position();
  const size_t index = current_phase();
  Phase& phase = *parts_.phases[index];
  if (index > 0 && phase.step() == 0) {
    parts_.algorithm->begin_phase(phase.spec(), options_.budget.updates - update_);
  }
  Metrics metrics;
  LoopHooks loop;
  loop.all = [&](bool here) {
    return sum_over(parts_.processes, {here ? 0.0 : 1.0}).front() == 0.0;
  };
  loop.update = [&](Sampler& sampler) {
    if (update_ < options_.budget.updates) metrics = update(index, sampler, callbacks);
  };
  loop.collected = [&] {
    if (callbacks.on_collect_end) callbacks.on_collect_end(progress());
  };
  phase.advance(loop);
  return metrics;
}

// Returns false if a signal interrupted the evaluation.
bool Trainer::evaluate_before_training(RunSink& sink, const Callbacks& callbacks) {
  if (!evaluated_before_training_ && evaluates()) {
    Json row = make_row({}, lr_scale(current_phase()));
    if (!evaluate(row, callbacks)) return false;
    remember(row, sink, callbacks);
  }
  evaluated_before_training_ = true;
  return true;
}

void Trainer::remember(const Json& row, RunSink& sink, const Callbacks& callbacks) {
  last_.update(row);
  sink.log(row);
  if (callbacks.on_row && !callbacks.on_row(progress(), row)) ended_by_callback_ = true;
}

void Trainer::log(Json& row, RunSink& sink, const Callbacks& callbacks) {
  add_phase_metrics(row);
  warn_of_divergence(row, sink);
  const auto& metric = early_stopping_.options().metric;
  if (row.contains(metric) && row[metric].is_number()) {
    early_stopping_.observe(row[metric].get<double>(), position());
  }
  remember(row, sink, callbacks);
}

TrainSummary Trainer::run(RunSink& sink, const Callbacks& callbacks, StopRequests* requests) {
  requests_ = requests;
  ended_by_callback_ = false;
  AgreedRequests agreed(requests, parts_.processes);
  if (callbacks.on_train_start) callbacks.on_train_start(progress());
  const bool evaluated = evaluate_before_training(sink, callbacks);
  LoopRequests asked = agreed.look(ended_by_callback_, /*fresh=*/true);
  bool stop = !evaluated || asked.end;
  if (stop || asked.checkpoint) sink.checkpoint(position(), /*best=*/false);

  while (!stop && (!spent() || !waiting_row_.empty())) {
    agreed.tell(ended_by_callback_);
    const bool waited = !waiting_row_.empty();
    const double scale = lr_scale(current_phase());
    if (!waited) keep_phase_end(sink);
    const Metrics metrics = waited ? Metrics() : advance(callbacks);

    bool best = false;
    const bool evaluation_due = waited || (evaluates() && due(options_.eval_interval));
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
      if (log_due && waiting_row_.empty()) log(row, sink, callbacks);
    }
    asked = agreed.look(ended_by_callback_, /*fresh=*/evaluation_due);
    stop = asked.end || asked.signal != 0;
    const bool save_now = stop || asked.checkpoint;
    if (save_now && !log_due && !checkpoint_due) check_health(make_row(metrics, scale));
    if (checkpoint_due || best || save_now || early_stopping_.stopped()) {
      sink.checkpoint(position(), best);
    }
  }
  TrainSummary summary;
  const bool all_updates = update_ >= options_.budget.updates;
  // A signal that arrives after the end of training has no effect.
  const bool stopped = stop && !(spent() && waiting_row_.empty());
  summary.stop_reason = asked.end                   ? "callback"
                        : stopped                   ? "signal"
                        : early_stopping_.stopped() ? "early_stopping"
                        : all_updates               ? options_.budget.reason
                                                    : "total_timesteps";
  summary.signal = stopped && !asked.end ? asked.signal : 0;
  summary.update_count = update_;
  summary.global_step = global_step();
  summary.metrics = last_;
  if (callbacks.on_train_end) callbacks.on_train_end(summary);
  return summary;
}

Json Trainer::make_row(const Metrics& metrics, double lr_scale) const {
  Json row = Json::object();
  add_to_row(row, ProgressMetrics{.global_step = global_step(),
                                  .update_count = update_,
                                  .epoch = update_ / options_.budget.epoch_updates,
                                  .learning_rate = options_.learning_rate * lr_scale,
                                  .lr_scale = lr_scale,
                                  .dataset_size = options_.dataset_size});
  // Which metrics are defined depends only on counters, which are equal in all processes. All
  // processes therefore exchange the same number of values.
  std::vector<double> values;
  for (const auto& [name, value] : metrics.values()) {
    if (value.defined()) values.push_back(value.item<double>());
  }
  values = sum_over(parts_.processes, std::move(values));
  auto next = values.begin();
  for (const auto& [name, value] : metrics.values()) {
    row[name] = value.defined() ? Json(*next++ / process_count(parts_.processes)) : Json(nullptr);
  }
  return row;
}

void Trainer::add_phase_metrics(Json& row) {
  RowContext context;
  context.batch_rows = parts_.batch.rows();
  context.processes = parts_.processes;
  context.begun = true;
  for (const Phase* phase : parts_.phases) {
    if (!phase->spec().collects()) context.data_updates += phase->step();
  }
  for (Phase* phase : parts_.phases) {
    phase->report(row, context);
    context.begun = context.begun && phase->finished();
  }
}

// Ends the run if a loss or a parameter is not finite. Called before a checkpoint is written, so
// that checkpoints contain only finite values.
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
                  "; training stopped, earlier checkpoints are kept (expected finite losses and "
                  "parameters: try a smaller learning_rate, or check rewards and observations)");
}

void Trainer::warn_of_divergence(const Json& row, RunSink& sink) {
  const auto value = row.find("target_q_mean");
  if (warned_of_divergence_ || options_.value_limit <= 0 || value == row.end()) return;
  if (!value->is_number() || std::abs(value->get<double>()) <= options_.value_limit) return;
  warned_of_divergence_ = true;
  sink.warn(
      fmt::format("warning: values diverge: target_q_mean is {:.3g} at update {}, the rewards of "
                  "the data allow at most {:.3g}; try a smaller learning_rate or gamma, or an "
                  "algorithm with a stronger penalty on actions outside the data (cql, iql)",
                  value->get<double>(), update_, options_.value_limit / 10));
}

// Returns whether this evaluation is the best so far, or no value if a signal interrupted it.
std::optional<bool> Trainer::evaluate(Json& row, const Callbacks& callbacks) {
  if (parts_.evaluator != nullptr) {
    threads_.use_all();
    const auto result = parts_.evaluator->run(*parts_.algorithm, *parts_.normalizer, requests_);
    if (result.cut_short) return std::nullopt;
    add_to_row(row, result.as_metrics());
    if (callbacks.on_eval_end) callbacks.on_eval_end(progress(), result);
  }
  if (parts_.validator != nullptr) {
    const auto metrics = parts_.validator->run(*parts_.algorithm, *parts_.normalizer);
    add_to_row(row, metrics);
    if (callbacks.on_validation_end) callbacks.on_validation_end(progress(), metrics);
  }
  const auto found = row.find(options_.best_metric);
  if (position() == 0 || found == row.end() || !found->is_number()) return false;
  const double value = found->get<double>();
  const bool largest = options_.best_mode == EarlyStoppingOptions::Mode::max;
  const bool best = !has_best_ || (largest ? value > best_ : value < best_);
  if (best) best_ = value;
  has_best_ = true;
  return best;
}

void Trainer::visit_state(StateVisitor& state) {
  state.part("early_stopping", early_stopping_);
  state.scalar("update_count", update_);
  state.scalar("evaluated_before_training", evaluated_before_training_);
  state.scalar("has_best", has_best_);
  state.scalar("best", best_);
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
