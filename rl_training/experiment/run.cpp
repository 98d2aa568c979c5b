#include "rl_training/experiment/run.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "build_info.h"
#include "rl_training/experiment/session_end.h"
#include "rl_training/experiment/state_archive.h"
#include "rl_training/models/kernels.h"
#include "rl_training/runtime/health.h"
#include "rl_training/util/file_system.h"

namespace rl_training {
namespace {

constexpr int kFailedSavesBeforeStop = 3;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

bool is_evaluation_metric(const std::string& name) {
  std::vector<std::string> names;
  append_names<EvaluationMetrics>(names);
  append_names<ValidationMetrics>(names);
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Run::Run(const TrainConfig& config, RunData data, RunDirectory directory, RunContext context,
         const Checkpoint* from)
    : context_(std::move(context)),
      directory_(std::move(directory)),
      policy_(config, data.env),
      data_(std::move(data)),
      store_(context_.session.files(), directory_.file("checkpoints")),
      metric_log_(directory_.path(), metric_names(config)),
      timing_log_(directory_.path()) {
  dataset_facts_.fingerprint = data_.fingerprint;
  if (const auto& rows = data_.rows) {
    dataset_facts_ = {rows->rows(),
                      static_cast<int64_t>(rows->episodes().size()),
                      rows->mean_return(),
                      data_.fingerprint,
                      {}};
    if (!rows->obs_space().is_image()) {
      dataset_facts_.first_obs.assign(rows->obs(0), rows->obs(0) + rows->obs_dim());
    }
    if (config.dataset.normalize_observations) policy_.normalizer() = ObsNormalizer::fit(*rows);
  }
  // Before the samplers, which normalise by what they were made with.
  if (from != nullptr) warm_start_ = start_from(*from, policy_);
  phases_ = std::make_unique<RunPhases>(policy_, data_, context_.session.files(), context_.warn);
  if (config.eval_episodes > 0) {
    evaluator_ = std::make_unique<Evaluator>(config.env_id, config.eval_episodes,
                                             static_cast<uint64_t>(config.eval_seed),
                                             &policy_.pool(), config.env, data_.reference);
  }
  if (data_.held_out != nullptr) {
    const auto request = config.algorithm->request();
    validator_ = std::make_unique<Validator>(
        data_.held_out,
        Validator::Options{.gamma = request.gamma, .remembers = request.window > 0});
  }
  TrainerParts parts;
  parts.algorithm = &policy_.algorithm();
  parts.phases = phases_->phases();
  parts.batch = Batch(config.algorithm->request(), policy_.env().observation, policy_.env().action);
  parts.evaluator = evaluator_.get();
  parts.validator = validator_.get();
  parts.normalizer = &policy_.normalizer();
  trainer_ = std::make_unique<Trainer>(std::move(parts), trainer_options());
}

TrainerOptions Run::trainer_options() const {
  const auto& config = policy_.config();
  TrainerOptions options;
  const auto specs = config.phases();
  int64_t epoch_rows = dataset_facts_.rows;
  if (config.collects_by_itself()) {
    const auto* phase = collecting_phase(specs);
    epoch_rows = phase->rolls_out() ? phase->rollout.steps : phase->collect.buffer_capacity;
  } else {
    check_dataset_size(config.budget, dataset_facts_.rows);
  }
  options.budget = plan_budget(config.budget, specs, epoch_rows, config.algorithm->request().rows);
  options.schedule = config.schedule;
  options.early_stopping = config.early_stopping;
  if (config.early_stopping.enabled && is_evaluation_metric(config.early_stopping.metric)) {
    options.best_metric = config.early_stopping.metric;
    options.best_mode = config.early_stopping.mode;
  }
  options.learning_rate = config.algorithm->learning_rate;
  options.dataset_size = dataset_facts_.rows;
  // Rewards of an environment may be larger than those of the data.
  if (data_.rows && collecting_phase(specs) == nullptr) {
    options.value_limit =
        plausible_value(data_.rows->largest_reward(), config.algorithm->request().gamma);
  }
  // The policy changes at the end of a rollout only, and only then there are losses to report.
  const auto rounded = [&](int64_t interval) {
    const int64_t unit = specs.front().rolls_out() ? specs.front().rollout.steps : 1;
    return (interval + unit - 1) / unit * unit;
  };
  options.eval_interval = rounded(config.eval_interval);
  options.log_interval = rounded(config.log_interval);
  options.checkpoint_interval = config.checkpoint_interval;
  return options;
}

void Run::visit_state(StateVisitor& state) {
  policy_.visit_state(state);
  phases_->visit_state(state);
  state.part("trainer", *trainer_);
  state.part("metric_log", metric_log_);
}

RunResult Run::train(const Callbacks& callbacks, StopRequests* requests) {
  const SingleThreadedTensors serial;
  timed_at_ = seconds_now();
  RunResult result;
  const auto metadata = directory_.file("metadata.json");
  try {
    result.summary = trainer_->run(*this, callbacks, requests);
  } catch (const Error& error) {
    record_session_end(context_.session.files(), metadata, error_kind_name(error.kind()));
    throw;
  } catch (...) {  // of a callback or an environment
    record_session_end(context_.session.files(), metadata, "exception");
    throw;
  }
  // The last save has no next interval: it must succeed now, or the run has failed.
  if (failed_saves_ > 0) save_checkpoint_of(trainer_->position(), /*best=*/false);
  result.run_dir = directory_.path();
  result.checkpoint = last_checkpoint_;
  record_session_end(context_.session.files(), metadata, result.summary.stop_reason);
  return result;
}

Json Run::facts() const {
  return checkpoint_facts(policy_.config(), policy_.env(), policy_.pool().size(),
                          dataset_facts_.fingerprint);
}

void Run::save(const std::string& directory) {
  save_checkpoint(context_.session.files(), directory, trainer_->position(),
                  save_state([this](StateVisitor& state) { visit_state(state); }), facts(),
                  phases_->checkpoint_files());
}

void Run::log(const Json& row) {
  metric_log_.write(row);
  const double now = seconds_now();
  const auto update = row["update_count"].get<int64_t>();
  const double rate =
      now > timed_at_ ? static_cast<double>(update - timed_update_) / (now - timed_at_) : 0;
  timing_log_.write(update, now, rate);
  auto scalars = row;
  scalars["updates_per_second"] = rate;
  tensorboard_->write(trainer_->position(), scalars);
  timed_update_ = update;
  timed_at_ = now;
}

// A full disk must not end hours of training at once: a failed checkpoint is tried again at the
// next interval, and only several in a row stop the run.
void Run::save_or_warn(int64_t step, const std::function<void()>& save) {
  try {
    save();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io || ++failed_saves_ >= kFailedSavesBeforeStop) throw;
    context_.warn("warning: checkpoint of step " + std::to_string(step) + " failed (" +
                  error.what() + "); training continues and tries again at the next interval");
  }
}

void Run::checkpoint(int64_t step, bool best) {
  save_or_warn(step, [&] { save_checkpoint_of(step, best); });
}

void Run::phase_end(int64_t step, const std::string& phase) {
  save_or_warn(step, [&] { save(directory_.file("checkpoints") + "/phase-" + phase); });
}

void Run::save_checkpoint_of(int64_t step, bool best) {
  const auto entries = save_state([this](StateVisitor& state) { visit_state(state); });
  last_checkpoint_ = store_.save(step, entries, facts(), best, phases_->checkpoint_files());
  phases_->saved_in(last_checkpoint_);
  tensorboard_->flush();
  failed_saves_ = 0;
}

void Run::write_metadata(int64_t from_update) {
  auto& files = context_.session.files();
  const auto path = directory_.file("metadata.json");
  Json metadata = Json::object();
  if (files.exists(path)) {
    metadata = parse_untrusted_json(files.read_file(path));
    if (!metadata.is_object()) metadata = Json::object();
  }
  metadata["algo"] = config().algo;
  metadata["env_id"] = config().env_id;
  metadata["seed"] = config().seed;
  metadata["config_hash"] = config_hash(config());
  metadata["dataset"] = {{"kind", config().dataset.source.kind},
                         {"rows", dataset_facts_.rows},
                         {"episodes", dataset_facts_.episodes},
                         {"return_mean", json_number(dataset_facts_.mean_return)},
                         {"fingerprint", dataset_facts_.fingerprint},
                         {"warnings", data_.warnings}};
  if (data_.held_out != nullptr) {
    metadata["validation"] = {{"rows", data_.held_out->rows()},
                              {"episodes", data_.held_out_episodes}};
  }
  if (warm_start_) {
    metadata["from"] = {{"checkpoint", absolute_path(warm_start_->checkpoint)},
                        {"taken", warm_start_->taken},
                        {"left", warm_start_->left}};
  }
  if (!metadata["sessions"].is_array()) metadata["sessions"] = Json::array();
  metadata["sessions"].push_back({{"started", utc_now()},
                                  {"from_update", from_update},
                                  {"command", context_.command},
                                  {"version", RL_TRAINING_VERSION},
                                  {"commit", RL_TRAINING_COMMIT},
                                  {"build", RL_TRAINING_BUILD_TYPE},
                                  {"threads", policy_.pool().size()},
                                  {"instruction_set", kernels().name}});
  write_file_atomically(files, path,
                        metadata.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace rl_training
