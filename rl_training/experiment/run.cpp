#include "rl_training/experiment/run.h"

#include <chrono>
#include <ctime>
#include <filesystem>

#include "build_info.h"
#include "rl_training/experiment/state_archive.h"
#include "rl_training/experiment/yaml_reader.h"
#include "rl_training/experiment/yaml_writer.h"
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

// The run that a path to resume from belongs to ("" for a checkpoint outside any), and whether
// training goes on in its directory. From a checkpoint it does so only if that is the newest one:
// otherwise newer work would be overwritten.
struct Origin {
  std::string run;
  bool in_place = false;
};

Origin find_origin(FileSystem& files, const std::string& given) {
  if (!files.exists(given)) {
    throw Error(ErrorKind::io, {given, 0, ""}, "no such run or checkpoint directory");
  }
  if (files.exists(given + "/config.yaml")) return {given, true};
  const auto path = std::filesystem::path(given).lexically_normal();
  if (path.parent_path().filename() != "checkpoints") return {};
  Origin origin;
  origin.run = path.parent_path().parent_path().string();
  if (origin.run.empty()) origin.run = ".";
  const auto all = CheckpointStore(files, origin.run + "/checkpoints").list();
  origin.in_place =
      !all.empty() && std::filesystem::path(all.back().path).filename() == path.filename();
  return origin;
}

void go_online(TrainConfig& config, int64_t env_steps) {
  if (config.algorithm->online() != nullptr) {
    throw Error(ErrorKind::config, {"--online", 0, ""},
                config.algo + " learns online already (expected --total-timesteps N)");
  }
  config.goes_online = true;
  config.online_timesteps = env_steps;
}

// Updates from the dataset can be changed as long as there was no environment step; afterwards the
// run would go back to them, and its checkpoints would be named by less than is done.
void check_new_length(const Checkpoint& checkpoint, const TrainConfig& before,
                      const TrainConfig& config) {
  if (!config.goes_online || config.total_timesteps == before.total_timesteps) return;
  const ErrorPlace place = {"--total-timesteps", 0, ""};
  if (before.goes_online && checkpoint.step > before.total_timesteps) {
    throw Error(ErrorKind::config, place,
                "this run learns in its environment by now (expected --online N, environment "
                "steps)");
  }
  if (config.total_timesteps < checkpoint.step) {
    throw Error(ErrorKind::config, place,
                "fewer updates from the dataset than are done (expected at least " +
                    std::to_string(checkpoint.step) + ", got " +
                    std::to_string(config.total_timesteps) + ")");
  }
}

void warn_without_updates(const OnlinePlan& plan,
                          const std::function<void(const std::string&)>& warn) {
  if (plan.updates_until(plan.env_steps) > 0) return;
  warn("warning: nothing will be learnt from " + std::to_string(plan.env_steps) +
       " environment steps: updates begin after " +
       std::to_string(std::max(plan.first_update_step, plan.min_rows)) +
       " of them (learning_starts, warmup_steps, min_buffer_size), every " +
       std::to_string(plan.train_frequency) + " (train_frequency)");
}

// A run without a dataset has this in place of a fingerprint.
constexpr char kNoDataset[] = "none";

void check_fingerprint(const Checkpoint& checkpoint, const std::string& fingerprint) {
  const auto expected = checkpoint.manifest.value("dataset_fingerprint", "");
  if (expected == fingerprint) return;
  if (expected.empty()) {
    throw Error(ErrorKind::checkpoint, {checkpoint.path, 0, ""},
                "holds a policy only: it can act, but not be trained on");
  }
  throw Error(ErrorKind::data, {checkpoint.path, 0, "dataset_fingerprint"},
              "the dataset is not the one this run was trained on (expected " + expected +
                  ", got " + fingerprint + ")");
}

}  // namespace

Run::Run(const TrainConfig& config, RunData data, RunDirectory directory, RunContext context)
    : context_(std::move(context)),
      directory_(std::move(directory)),
      policy_(config),
      data_(std::move(data)),
      store_(posix_file_system(), directory_.file("checkpoints")),
      metric_log_(directory_.path(), metric_names(config)),
      timing_log_(directory_.path()) {
  const auto seed = static_cast<uint64_t>(config.seed);
  dataset_facts_.fingerprint = kNoDataset;
  if (const auto& rows = data_.rows) {
    dataset_facts_ = {rows->rows(), static_cast<int64_t>(rows->episodes().size()),
                      rows->mean_return(), rows->fingerprint()};
    if (config.dataset.normalize_observations) policy_.normalizer() = ObsNormalizer::fit(*rows);
    sampler_ = std::make_unique<UniformSampler>(rows, policy_.normalizer(), Rng(seed, "data"));
  }
  if (config.online() != nullptr) {
    online_ = std::make_unique<OnlineSetup>(config, policy_, sampler_.get(),
                                            collected_reward(config, data_, context_.warn));
    warn_without_updates(OnlineSetup::plan(config), context_.warn);
  }
  if (config.eval_episodes > 0) {
    evaluator_ = std::make_unique<Evaluator>(config.env_id, config.eval_episodes, seed,
                                             &policy_.pool(), config.env);
  }
  const auto& info = find_algorithm(config.algo);
  TrainerParts parts;
  parts.algorithm = &policy_.algorithm();
  parts.sampler = sampler_.get();
  if (online_ != nullptr) {
    parts.collector = &online_->collector();
    parts.online_sampler = &online_->sampler();
    parts.mixture = online_->mixture();
  }
  parts.batch =
      Batch::allocate(config.algorithm->batch_size, policy_.env().obs_dim,
                      policy_.env().action.dims(), info.wants_next_actions, info.wants_mc_returns);
  parts.evaluator = evaluator_.get();
  parts.normalizer = &policy_.normalizer();
  trainer_ = std::make_unique<Trainer>(std::move(parts), trainer_options());
}

TrainerOptions Run::trainer_options() const {
  const auto& config = policy_.config();
  TrainerOptions options;
  const int64_t batch_size = config.algorithm->batch_size;
  if (const auto* online = config.online()) {
    options.online = OnlineSetup::plan(config);
    const int64_t epoch_rows = config.goes_online ? dataset_facts_.rows : online->buffer_capacity;
    options.budget = plan_online_budget(config.budget, options.online, epoch_rows, batch_size);
  } else {
    options.budget =
        plan_budget(config.budget, config.total_timesteps, dataset_facts_.rows, batch_size);
  }
  options.schedule = config.schedule;
  options.early_stopping = config.early_stopping;
  options.learning_rate = config.algorithm->learning_rate;
  options.dataset_size = dataset_facts_.rows;
  options.eval_interval = config.eval_interval;
  options.log_interval = config.log_interval;
  options.checkpoint_interval = config.checkpoint_interval;
  return options;
}

std::unique_ptr<Run> Run::start(const TrainConfig& config, RunContext context) {
  auto data = load_run_data(config, context.warn);  // before anything is left on the disk
  auto directory = RunDirectory::create(posix_file_system(), config.output_dir, config.algo,
                                        config.env_id, static_cast<uint64_t>(config.seed),
                                        write_yaml(write_train_config(config)));
  std::unique_ptr<Run> run(
      new Run(config, std::move(data), std::move(directory), std::move(context)));
  run->tensorboard_ = std::make_unique<TensorBoardLog>(run->directory_.file("tensorboard"), 0);
  run->write_metadata(0);
  return run;
}

std::unique_ptr<Run> Run::resume(const std::string& run_or_checkpoint, const ResumeChanges& changes,
                                 RunContext context) {
  auto& files = posix_file_system();
  const auto given = without_slash(run_or_checkpoint);
  const auto origin = find_origin(files, given);
  std::optional<RunDirectory> directory;
  if (origin.in_place) {  // the lock comes first: a live run may be writing there
    directory = RunDirectory::open(files, origin.run);
    CheckpointStore(files, directory->file("checkpoints")).remove_leftovers();
  }
  const auto checkpoint =
      given == origin.run ? CheckpointStore(files, given + "/checkpoints").load_newest(context.warn)
                          : std::optional(load_checkpoint(files, given));
  const auto config_file = given + "/config.yaml";
  auto config = checkpoint
                    ? config_of(*checkpoint)
                    : read_train_config(read_yaml(files.read_file(config_file), config_file));
  const auto before = config;
  if (changes.total_timesteps) config.total_timesteps = *changes.total_timesteps;
  if (changes.online_timesteps) go_online(config, *changes.online_timesteps);
  if (changes.threads) config.threads = *changes.threads;
  if (checkpoint) check_new_length(*checkpoint, before, config);

  auto data = load_run_data(config, context.warn);
  if (checkpoint) {
    check_fingerprint(*checkpoint, data.rows ? data.rows->fingerprint() : kNoDataset);
  }
  const auto yaml = write_yaml(write_train_config(config));
  const bool has_logs = origin.in_place || files.exists(origin.run + "/metrics.jsonl");
  if (directory) {
    write_file_atomically(files, directory->file("config.yaml"), yaml);
  } else {
    directory = RunDirectory::create(files, config.output_dir, config.algo, config.env_id,
                                     static_cast<uint64_t>(config.seed), yaml);
    for (const char* name : {"metrics.jsonl", "metrics.csv"}) {
      if (has_logs)
        files.write_file(directory->file(name), files.read_file(origin.run + "/" + name));
    }
  }
  std::unique_ptr<Run> run(
      new Run(config, std::move(data), std::move(*directory), std::move(context)));
  if (checkpoint) run->load(*checkpoint);
  if (!has_logs) run->metric_log_.start_empty();
  run->metric_log_.restore();
  const int64_t from = run->trainer_->position();
  run->timed_update_ = run->trainer_->update_count();
  run->tensorboard_ = std::make_unique<TensorBoardLog>(run->directory_.file("tensorboard"), from);
  run->write_metadata(from);
  return run;
}

void Run::load(const Checkpoint& checkpoint) {
  // A run that goes online only now begins with an empty buffer and fresh environments.
  const bool was_online = config_of(checkpoint).online() != nullptr;
  if (was_online) online_->load_rows(checkpoint);
  auto online = was_online ? nullptr : std::move(online_);
  load_state(checkpoint.entries, checkpoint.path,
             [this](StateVisitor& state) { visit_state(state); });
  if (online != nullptr) online_ = std::move(online);
  last_checkpoint_ = checkpoint.path;
}

void Run::visit_state(StateVisitor& state) {
  policy_.visit_state(state);
  if (sampler_ != nullptr) state.part("sampler", *sampler_);
  if (online_ != nullptr) state.part("online", *online_);
  state.part("trainer", *trainer_);
  state.part("metric_log", metric_log_);
}

RunResult Run::train(const Callbacks& callbacks) {
  timed_at_ = seconds_now();
  RunResult result;
  result.summary = trainer_->run(*this, callbacks);
  // The last save has no next interval: it must succeed now, or the run has failed.
  if (failed_saves_ > 0) save_checkpoint_of(trainer_->position(), /*best=*/false);
  result.run_dir = directory_.path();
  result.checkpoint = last_checkpoint_;
  return result;
}

Json Run::facts() const {
  return checkpoint_facts(policy_.config(), policy_.pool().size(), dataset_facts_.fingerprint);
}

void Run::save(const std::string& directory) {
  save_checkpoint(posix_file_system(), directory, trainer_->position(),
                  save_state([this](StateVisitor& state) { visit_state(state); }), facts(),
                  checkpoint_files());
}

std::vector<CheckpointFile> Run::checkpoint_files() {
  return online_ == nullptr ? std::vector<CheckpointFile>() : online_->checkpoint_files();
}

void Run::log(const Json& row) {
  metric_log_.write(row);
  tensorboard_->write(trainer_->position(), row);
  const double now = seconds_now();
  const auto update = row["update_count"].get<int64_t>();
  const double rate =
      now > timed_at_ ? static_cast<double>(update - timed_update_) / (now - timed_at_) : 0;
  timing_log_.write(update, now, rate);
  timed_update_ = update;
  timed_at_ = now;
}

// A full disk must not end hours of training at once: a failed checkpoint is tried again at the
// next interval, and only several in a row stop the run.
void Run::checkpoint(int64_t step, bool best) {
  try {
    save_checkpoint_of(step, best);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io || ++failed_saves_ >= kFailedSavesBeforeStop) throw;
    context_.warn("warning: checkpoint of step " + std::to_string(step) + " failed (" +
                  error.what() + "); training goes on and tries again at the next interval");
  }
}

void Run::save_checkpoint_of(int64_t step, bool best) {
  const auto entries = save_state([this](StateVisitor& state) { visit_state(state); });
  last_checkpoint_ = store_.save(step, entries, facts(), best, checkpoint_files());
  if (online_ != nullptr) online_->saved_in(last_checkpoint_);
  tensorboard_->flush();
  failed_saves_ = 0;
}

void Run::write_metadata(int64_t from_update) {
  auto& files = posix_file_system();
  const auto path = directory_.file("metadata.json");
  Json metadata = Json::object();
  if (files.exists(path)) {
    metadata = Json::parse(files.read_file(path), nullptr, /*allow_exceptions=*/false);
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
                         {"fingerprint", dataset_facts_.fingerprint}};
  metadata["sessions"].push_back({{"started", utc_now()},
                                  {"from_update", from_update},
                                  {"command", context_.command},
                                  {"version", RL_TRAINING_VERSION},
                                  {"commit", RL_TRAINING_COMMIT},
                                  {"build", RL_TRAINING_BUILD_TYPE},
                                  {"threads", policy_.pool().size()},
                                  {"instruction_set", kernels().name}});
  write_file_atomically(files, path, metadata.dump(2) + "\n");
}

}  // namespace rl_training
