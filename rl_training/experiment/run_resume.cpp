// Resumes a run: selects the checkpoint and the directory, and applies the requested changes.
#include <filesystem>

#include "rl_training/experiment/run.h"
#include "rl_training/experiment/run_file.h"
#include "rl_training/experiment/run_shares.h"
#include "rl_training/experiment/yaml_reader.h"
#include "rl_training/experiment/yaml_writer.h"
#include "rl_training/util/file_system.h"

namespace rl_training {
namespace {

// `run` is the run to which the given path belongs, or "" for a checkpoint outside a run.
// `in_place` means that training continues in the directory of that run. Training from a given
// checkpoint continues in place only if this checkpoint is the newest of its run; otherwise newer
// work would be overwritten.
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
  // Without config.yaml, the directory is not a run: the checkpoint was copied out of its run.
  if (!files.exists(origin.run + "/config.yaml")) return {};
  const auto all = CheckpointStore(files, origin.run + "/checkpoints").list();
  origin.in_place =
      !all.empty() && std::filesystem::path(all.back().path).filename() == path.filename();
  return origin;
}

void set_online_steps(TrainConfig& config, int64_t env_steps) {
  if (config.collects_by_itself()) {
    throw Error(ErrorKind::config, {"--online", 0, ""},
                config.algo + " learns online already (expected --total-timesteps N)");
  }
  config.online.used = true;
  config.online.total_timesteps = env_steps;
  config.validate();
}

void set_dataset_path(TrainConfig& config, const std::string& path) {
  const ErrorPlace place = {"--dataset-path", 0, ""};
  auto& source = config.dataset.source;
  if (!config.has_dataset() || !config.dataset.mix.empty() || source.kind == "random" ||
      source.kind == "recipe" || source.kind == kMemoryKind) {
    throw Error(ErrorKind::config, place, "this run does not learn from one dataset file");
  }
  source.path = absolute_path(path);
  source.id.clear();
}

// Paths were made absolute when the run started, so a file that does not exist has been moved or
// removed.
void check_files(FileSystem& files, const TrainConfig& config) {
  const auto& path = config.dataset.source.path;
  if (!config.has_dataset() || path.empty() || files.exists(path)) return;
  throw Error(ErrorKind::data, {path, 0, ""},
              "no such file (expected the data of this run; if it was moved, give --dataset-path)");
}

void set_arrays(TrainConfig& config, std::shared_ptr<const MemoryArrays> arrays) {
  auto& source = config.dataset.source;
  if (!config.has_dataset() || !config.dataset.mix.empty() || source.kind != kMemoryKind) {
    throw Error(ErrorKind::config, {"", 0, "dataset_kind"},
                "this run does not learn from arrays in memory (expected no dataset)");
  }
  source.arrays = std::move(arrays);
}

TrainConfig changed_config(TrainConfig config, const ResumeChanges& changes) {
  if (changes.dataset_path) set_dataset_path(config, *changes.dataset_path);
  if (changes.arrays) set_arrays(config, changes.arrays);
  if (changes.output_dir) config.output_dir = absolute_path(*changes.output_dir);
  if (changes.total_timesteps) config.total_timesteps = *changes.total_timesteps;
  if (changes.online_timesteps) set_online_steps(config, *changes.online_timesteps);
  if (changes.threads) config.threads = *changes.threads;
  return config;
}

bool same_length(const TrainConfig& a, const TrainConfig& b) {
  return a.total_timesteps == b.total_timesteps && a.online.used == b.online.used &&
         (!a.online.used || a.online.total_timesteps == b.online.total_timesteps);
}

// The number of offline updates can change only before the first environment step. A later change
// would return the run to the offline phase. Its position would then be wrong, and so would the
// names of its checkpoints.
void check_new_length(const Checkpoint& checkpoint, const TrainConfig& before,
                      const TrainConfig& config) {
  if (!config.online.used || config.total_timesteps == before.total_timesteps) return;
  const ErrorPlace place = {"--total-timesteps", 0, ""};
  if (before.online.used && checkpoint.step > before.total_timesteps) {
    throw Error(ErrorKind::config, place,
                "this run is already in its online phase (expected --online N, environment steps)");
  }
  if (config.total_timesteps < checkpoint.step) {
    throw Error(ErrorKind::config, place,
                "fewer updates on the dataset than already made (expected at least " +
                    std::to_string(checkpoint.step) + ", got " +
                    std::to_string(config.total_timesteps) + ")");
  }
}

void check_fingerprint(const Checkpoint& checkpoint, const std::string& fingerprint) {
  const auto expected = checkpoint.manifest.value("dataset_fingerprint", "");
  if (expected == fingerprint) return;
  if (expected.empty()) {
    throw Error(ErrorKind::checkpoint, {checkpoint.path, 0, ""},
                "holds only a policy, which can act but cannot be trained further");
  }
  throw Error(ErrorKind::data, {checkpoint.path, 0, "dataset_fingerprint"},
              "the dataset is not the one this run was trained on (expected " + expected +
                  ", got " + fingerprint + ")");
}

void copy_logs(FileSystem& files, const std::string& from, const std::string& to) {
  refuse_links(from);
  for (const char* name : {"/metrics.jsonl", "/metrics.csv"}) {
    files.write_file(to + name, files.read_file(from + name));
  }
}

}  // namespace

std::unique_ptr<Run> Run::resume(const std::string& run_or_checkpoint, const ResumeChanges& changes,
                                 RunContext context) {
  auto& files = context.session.files();
  const auto given = without_slash(run_or_checkpoint);
  auto origin = find_origin(files, given);
  if (changes.output_dir) origin.in_place = false;
  std::optional<RunDirectory> directory;
  if (origin.in_place) {  // lock first, because the run may still be training
    directory = RunDirectory::open(files, origin.run);
    CheckpointStore(files, directory->file("checkpoints")).remove_leftovers();
  }
  const auto checkpoint =
      given == origin.run ? CheckpointStore(files, given + "/checkpoints").load_newest(context.warn)
                          : std::optional(load_checkpoint(files, given));
  const auto config_file = given + "/config.yaml";
  if (!checkpoint) {
    context.warn("warning: " + given + " has no checkpoint: training starts from its beginning");
  }
  const auto before = checkpoint
                          ? config_of(*checkpoint)
                          : read_train_config(read_yaml(files.read_file(config_file), config_file));
  const auto config = changed_config(before, changes);
  if (checkpoint) {
    check_process_count(*checkpoint, process_count(context.processes));
    check_new_length(*checkpoint, before, config);
  }
  // Save a checkpoint at once if the directory, the length or the dataset path changes, so that a
  // run that is killed early resumes with these changes.
  const bool save_now =
      checkpoint && (!origin.in_place || !same_length(config, before) || changes.dataset_path);
  if (context.processes != nullptr) {
    const Json orders = {{"config", write_train_config(config)},
                         {"checkpoint", checkpoint ? absolute_path(checkpoint->path) : ""},
                         {"save", save_now}};
    context.processes->exchange(orders.dump());
  }

  check_files(files, config);
  std::optional<EnvSpec> spaces;
  if (checkpoint && !config.has_environment()) spaces = spaces_of(*checkpoint, config);
  auto data = load_run_data(config, {.warn = context.warn, .spaces = spaces ? &*spaces : nullptr});
  if (checkpoint) {
    check_fingerprint(*checkpoint, data.fingerprint);
  }
  const auto yaml = write_yaml(write_train_config(config));
  const bool has_logs =
      origin.in_place || (!origin.run.empty() && files.exists(origin.run + "/metrics.jsonl"));
  if (!directory) {
    directory = RunDirectory::create(files, config.output_dir, config.algo, task_name(config),
                                     static_cast<uint64_t>(config.seed), yaml);
  }
  const auto place = directory->path();
  std::unique_ptr<Run> run;
  try {
    if (has_logs && !origin.in_place) copy_logs(files, origin.run, place);
    run.reset(new Run(config, std::move(data), std::move(*directory), std::move(context)));
    if (checkpoint) {
      run->parts_.load(*checkpoint, [&](StateVisitor& state) { run->visit_state(state); });
      run->last_checkpoint_ = checkpoint->path;
    }
    run->check_length(changes);
    run->check_online_phase(changes);
    run->continue_logs(has_logs);
    if (checkpoint && !origin.in_place) run->inherit_best(origin.run, checkpoint->step);
    if (save_now) {
      run->save_with_others([&] { run->save_checkpoint_of(checkpoint->step, /*best=*/false); });
    }
    write_file_atomically(files, place + "/config.yaml", yaml);
  } catch (const Error&) {
    run.reset();
    if (!origin.in_place) files.remove_all(place);  // remove the new directory
    throw;
  }
  return run;
}

void Run::continue_logs(bool has_logs) {
  if (!has_logs) metric_log_.start_empty();
  metric_log_.restore();
  const int64_t from = parts_.trainer->position();
  timed_update_ = parts_.trainer->update_count();
  tensorboard_ = std::make_unique<TensorBoardLog>(directory_.file("tensorboard"), from);
  write_metadata(from);
}

// The new length must not be less than the number of steps already trained. Otherwise the config
// would no longer describe the run.
void Run::check_length(const ResumeChanges& changes) const {
  const int64_t excess = parts_.trainer->position() - parts_.trainer->length();
  if (!changes.total_timesteps || excess <= 0) return;
  throw Error(ErrorKind::config, {"--total-timesteps", 0, ""},
              "shorter than the run already is (expected at least " +
                  std::to_string(*changes.total_timesteps + excess) + ", got " +
                  std::to_string(*changes.total_timesteps) + ")");
}

// Only a run that has not ended, or that ended because it reached its length, can continue online.
void Run::check_online_phase(const ResumeChanges& changes) const {
  const auto ended_by = parts_.trainer->ended_by();
  if (!changes.online_timesteps || ended_by.empty()) return;
  throw Error(ErrorKind::config, {"--online", 0, ""},
              ended_by +
                  " ended this run (expected a run that made its total_timesteps updates; an "
                  "earlier checkpoint can be resumed in a new run)");
}

// If training continues in a new directory, the best checkpoint is copied there, unless it is newer
// than the checkpoint from which training continues.
void Run::inherit_best(const std::string& origin, int64_t step) {
  auto& files = context_.session.files();
  const auto path = origin + "/checkpoints/best";
  if (origin.empty() || !files.exists(path)) return;
  try {
    const auto best = load_checkpoint(files, path);
    if (best.step > step) return;
    files.make_directories(directory_.file("checkpoints"));
    copy_checkpoint(files, best, directory_.file("checkpoints") + "/best");
  } catch (const Error& error) {
    context_.warn("warning: the best checkpoint was not copied (" + std::string(error.what()) +
                  ")");
  }
}

}  // namespace rl_training
