#include "rl_training/experiment/run.h"

#include <chrono>
#include <ctime>

#include "build_info.h"
#include "rl_training/experiment/run_shares.h"
#include "rl_training/experiment/session_end.h"
#include "rl_training/models/kernels.h"
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

}  // namespace

Run::Run(const TrainConfig& config, RunData data, RunDirectory directory, RunContext context,
         const Checkpoint* from)
    : context_(std::move(context)),
      directory_(std::move(directory)),
      parts_(config, std::move(data), context_, from),
      store_(context_.session.files(), directory_.file("checkpoints")),
      metric_log_(directory_.path(), metric_names(config)),
      timing_log_(directory_.path()) {}

void Run::visit_state(StateVisitor& state) {
  parts_.visit_state(state);
  state.part("metric_log", metric_log_);
}

RunResult Run::train(const Callbacks& callbacks, StopRequests* requests) {
  const SingleThreadedTensors serial;
  timed_at_ = seconds_now();
  RunResult result;
  const auto metadata = directory_.file("metadata.json");
  try {
    result.summary = parts_.trainer->run(*this, callbacks, requests);
  } catch (const Error& error) {
    record_session_end(context_.session.files(), metadata, error_kind_name(error.kind()));
    throw;
  } catch (...) {  // thrown by a callback or an environment
    record_session_end(context_.session.files(), metadata, "exception");
    throw;
  }
  // If earlier saves failed, save once more. There is no later attempt, so a failure here throws.
  if (failed_saves_ > 0) save_checkpoint_of(parts_.trainer->position(), /*best=*/false);
  result.run_dir = directory_.path();
  result.checkpoint = last_checkpoint_;
  record_session_end(context_.session.files(), metadata, result.summary.stop_reason);
  return result;
}

Json Run::facts() const {
  auto facts = checkpoint_facts(parts_.policy.config(), parts_.policy.env(),
                                parts_.policy.pool().capacity(), parts_.dataset.fingerprint);
  if (context_.processes != nullptr) facts["processes"] = context_.processes->size();
  return facts;
}

// Collects the state of all processes.
Run::Content Run::content() {
  Content content = {save_state([this](StateVisitor& state) { visit_state(state); }),
                     parts_.phases->checkpoint_files()};
  for (size_t rank = 1; rank < shares_.size(); ++rank) {
    add_share(static_cast<int>(rank), shares_[rank], content.entries, content.files);
  }
  return content;
}

void Run::save(const std::string& directory) {
  const auto [entries, files] = content();
  save_checkpoint(context_.session.files(), directory, parts_.trainer->position(), entries, facts(),
                  files);
}

// Collects the state that the other processes send (RunWorker::send_share) and calls `save`. Then
// sends the other processes the path of the new step-* checkpoint, or "" if there is none, for
// example because the save failed.
void Run::save_with_others(const std::function<void()>& save) {
  if (context_.processes == nullptr) return save();
  shares_ = context_.processes->collect("");
  saved_in_.clear();
  save();
  context_.processes->exchange(saved_in_);
  if (!saved_in_.empty()) shares_.clear();  // after a failed save, train() uses them again
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
  tensorboard_->write(parts_.trainer->position(), scalars);
  timed_update_ = update;
  timed_at_ = now;
}

// A full disk must not immediately end hours of training. After a failed save, the run tries again
// at the next checkpoint interval. It stops only after several consecutive failures.
void Run::save_or_warn(int64_t step, const std::function<void()>& save) {
  try {
    save();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io || ++failed_saves_ >= kFailedSavesBeforeStop) throw;
    context_.warn("warning: checkpoint of step " + std::to_string(step) + " failed (" +
                  error.what() +
                  "); training continues, and the next checkpoint is tried at the next interval");
  }
}

void Run::checkpoint(int64_t step, bool best) {
  save_with_others([&] { save_or_warn(step, [&] { save_checkpoint_of(step, best); }); });
}

void Run::phase_end(int64_t step, const std::string& phase) {
  save_with_others([&] {
    save_or_warn(step, [&] { save(directory_.file("checkpoints") + "/phase-" + phase); });
  });
}

void Run::save_checkpoint_of(int64_t step, bool best) {
  const auto [entries, files] = content();
  last_checkpoint_ = saved_in_ = store_.save(step, entries, facts(), best, files);
  parts_.phases->saved_in(last_checkpoint_);
  tensorboard_->flush();
  failed_saves_ = 0;
}

void Run::write_metadata(int64_t from_update) {
  auto& files = context_.session.files();
  const auto path = directory_.file("metadata.json");
  Json metadata = Json::object();
  if (files.exists(path)) {
    metadata = parse_untrusted_json(files.read_file(path));
    if (!metadata.is_object()) {
      context_.warn("warning: " + path + " is not a JSON object: starting a new one, the old one " +
                    "is kept as metadata.json.damaged");
      files.rename(path, path + ".damaged");
      metadata = Json::object();
    }
  }
  metadata["algo"] = config().algo;
  metadata["env_id"] = config().env_id;
  metadata["seed"] = config().seed;
  metadata["config_hash"] = config_hash(config());
  metadata["dataset"] = {{"kind", config().dataset.source.kind},
                         {"rows", parts_.dataset.rows},
                         {"episodes", parts_.dataset.episodes},
                         {"return_mean", json_number(parts_.dataset.mean_return)},
                         {"fingerprint", parts_.dataset.fingerprint},
                         {"warnings", parts_.data.warnings}};
  if (parts_.data.held_out != nullptr) {
    metadata["validation"] = {{"rows", parts_.data.held_out->rows()},
                              {"episodes", parts_.data.held_out_episodes}};
  }
  if (parts_.warm_start) {
    metadata["from"] = {{"checkpoint", absolute_path(parts_.warm_start->checkpoint)},
                        {"taken", parts_.warm_start->taken},
                        {"left", parts_.warm_start->left}};
  }
  if (!metadata["sessions"].is_array()) metadata["sessions"] = Json::array();
  // Resuming a finished run trains nothing, so it is not recorded as a session.
  if (metadata["sessions"].empty() || !parts_.trainer->finished()) {
    metadata["sessions"].push_back({{"started", utc_now()},
                                    {"from_update", from_update},
                                    {"command", context_.command},
                                    {"version", RL_TRAINING_VERSION},
                                    {"commit", RL_TRAINING_COMMIT},
                                    {"build", RL_TRAINING_BUILD_TYPE},
                                    {"threads", parts_.policy.pool().capacity()},
                                    {"processes", process_count(context_.processes)},
                                    {"instruction_set", kernels().name}});
  }
  write_file_atomically(files, path,
                        metadata.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace rl_training
