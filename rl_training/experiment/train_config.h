#pragma once
#include <memory>

#include "rl_training/algorithms/registry.h"
#include "rl_training/data/validation_split.h"
#include "rl_training/envs/environment.h"
#include "rl_training/experiment/dataset_source.h"
#include "rl_training/runtime/budget.h"
#include "rl_training/runtime/early_stopping.h"
#include "rl_training/runtime/schedule.h"

namespace rl_training {

// The key `online:`. It adds a phase of environment steps after the updates of an offline
// algorithm. By default, this phase begins without random actions: the policy selects every action.
struct OnlineStage {
  bool used = false;
  int64_t total_timesteps = 10000;  // environment steps
  CollectOptions collect{.learning_starts = 0};
  // Share of dataset rows in every minibatch. If empty, all rows of the dataset and the replay
  // buffer are equally likely.
  std::optional<double> offline_batch_ratio = 0.5;
  int64_t warmup_steps = 0;  // environment steps before the first update

  void visit_options(OptionVisitor& options);
};

// The config of a run. Top-level keys are fields. `algo_kwargs` contains the algorithm's own
// options and the options that algorithms share: schedule, budget, early stopping and dataset.
struct TrainConfig {
  std::string algo;
  std::string env_id = kNoEnvironment;
  int64_t seed = 0;
  int64_t eval_seed = 0;
  int64_t total_timesteps = 100000;
  std::string output_dir = "runs";
  std::string device = "cpu";
  int64_t threads = 0;
  int64_t num_envs = 1;
  int64_t eval_episodes = 10, eval_interval = 5000;
  int64_t log_interval = 100, checkpoint_interval = 5000;
  std::vector<std::string> tags;

  std::shared_ptr<AlgorithmOptions> algorithm;
  ScheduleSpec schedule;
  BudgetOptions budget;
  EarlyStoppingOptions early_stopping;
  DatasetOptions dataset;
  EnvOptions env;  // env_kwargs

  OnlineStage online;
  ValidationOptions validation;

  // The phases of the run: the algorithm's phases, then the `online` phase.
  std::vector<PhaseSpec> phases() const;
  bool has_environment() const { return env_id != kNoEnvironment; }
  // Whether the algorithm itself collects, even without `online`.
  bool collects_by_itself() const;
  bool has_dataset() const { return read_data(phases()); }

  // Checks ranges, rules that involve several keys, and whether the algorithm supports the
  // environment. Throws Error{config} with the dotted key. read_train_config calls this; call it
  // yourself for a config built in code.
  void validate() const;

  void visit_top_options(OptionVisitor& options);
  void visit_algo_kwargs(OptionVisitor& options);
  void visit_env_kwargs(OptionVisitor& options) { env.visit_options(options, env_id); }
};

// Names of all metrics that a run logs: the columns of metrics.csv.
std::vector<std::string> metric_names(const TrainConfig& config);

// The metrics that only runs with a collecting phase log.
std::vector<std::string> collecting_metric_names(const TrainConfig& config);

// The defaults of one algorithm.
TrainConfig default_config(const std::string& algo);

// The purpose of reading a config. For `training`, it must be possible to create the environment.
// For `acting`, the environment may be unknown to this program.
enum class ConfigUse { training, acting };

// Reads a config strictly: every key must be known, of the right type and in range. Otherwise
// throws Error{config} with file, line and key.
TrainConfig read_train_config(const ConfigNode& root, ConfigUse use = ConfigUse::training);

// Throws Error{config} if the algorithm does not support the observations or actions of `env`.
void check_spaces(const TrainConfig& config, const EnvSpec& env);

// All keys with their values in a fixed order, as stored in config.yaml and in checkpoints.
Json write_train_config(const TrainConfig& config);

// SHA-256 of all keys except `threads`, `tags`, `output_dir`, `dataset_path` and the lengths of the
// run.
std::string config_hash(const TrainConfig& config);

// Returns the config with absolute dataset and output paths. Dataset paths that do not exist, such
// as Minari ids, stay unchanged.
TrainConfig with_absolute_paths(TrainConfig config);
std::string absolute_path(const std::string& path);

// Name of the task for the run directory: the environment or, without one, the dataset.
std::string task_name(const TrainConfig& config);

// Loads a file or a packaged config such as "td3_bc/pendulum".
ConfigNode load_config(const std::string& file_or_name);

// Sets a key, which may be dotted. A key that is not a top-level key is set in algo_kwargs, so
// `batch_size` means `algo_kwargs.batch_size`. Error messages use `origin` as the file.
void set_config_key(ConfigNode& root, const std::string& key, ConfigNode value,
                    const std::string& origin);
// Applies `--set key=value`.
void set_config_value(ConfigNode& root, const std::string& assignment,
                      const std::string& origin = "--set");

}  // namespace rl_training
