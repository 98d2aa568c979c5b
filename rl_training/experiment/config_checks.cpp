// Checks the rules that involve several keys of a config.
#include <algorithm>

#include "rl_training/data/rollout_buffer.h"
#include "rl_training/envs/registry.h"
#include "rl_training/experiment/train_config.h"
#include "rl_training/runtime/hindsight.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

// Runs `check`. If it throws, adds the prefix `map` to the key that the error names.
template <class Check>
void check_below(const std::string& map, const Check& check) {
  try {
    check();
  } catch (const Error& error) {
    auto place = error.place();
    place.key = map + "." + place.key;
    throw Error(error.kind(), place, error.message());
  }
}

void check_rollout(const TrainConfig& config, const PhaseSpec& phase) {
  phase.rollout.check(config.num_envs);
  check_rollout_columns(config.algorithm->request());
  if (phase.min_buffer_size == 0) return;
  throw Error(ErrorKind::config, {"", 0, "min_buffer_size"},
              config.algo + " learns from whole rollouts of rollout_steps (expected none)");
}

void check_collecting(const TrainConfig& config, const PhaseSpec& phase, const EnvSpec& env,
                      bool has_goals) {
  phase.collect.check(config.algorithm->batch_size, config.num_envs);
  if (phase.min_buffer_size > phase.collect.buffer_capacity) {
    throw Error(ErrorKind::config, {"", 0, "min_buffer_size"},
                "more than the buffer holds (expected at most buffer_capacity " +
                    std::to_string(phase.collect.buffer_capacity) + ", got " +
                    std::to_string(phase.min_buffer_size) + ")");
  }
  if (phase.collect.her.used && !has_goals) {
    throw Error(
        ErrorKind::config, {"", 0, "her"},
        "the task has no goals (expected one such as RL-PointGoal1D-v0, got " + env.id + ")");
  }
}

// Names of the algorithms that support the environment's observations and actions.
std::vector<std::string> fitting_algorithms(const EnvSpec& env) {
  std::vector<std::string> names;
  for (const auto& info : algorithms()) {
    if (fits(info, env.observation, env.action)) names.push_back(info.name);
  }
  return names;
}

void check_early_stopping(const TrainConfig& config) {
  if (!config.early_stopping.enabled) return;
  const auto names = metric_names(config);
  const auto& metric = config.early_stopping.metric;
  if (std::find(names.begin(), names.end(), metric) != names.end()) {
    const bool error = metric == "validation_td_error" || metric == "validation_action_error";
    if (!error || config.early_stopping.mode == EarlyStoppingOptions::Mode::min) return;
    throw Error(ErrorKind::config, {"", 0, "early_stopping.mode"},
                "smaller errors are better (expected min, got max)");
  }
  throw Error(ErrorKind::config, {"", 0, "early_stopping.metric"},
              "no such metric: " + metric + " (expected one of " + join(names, ", ") +
                  did_you_mean(metric, names) + ")");
}

// Checks that the rest of the config and the environment can provide the batches that the algorithm
// requests.
void check_request(const TrainConfig& config, const EnvSpec& env, bool collects) {
  const auto request = config.algorithm->request();
  if (collects && request.window > 0) {
    throw Error(ErrorKind::config, {"", 0, config.online.used ? "online" : "algo"},
                config.algo +
                    " learns from segments of whole episodes, which a replay buffer does not "
                    "provide (expected offline training only)");
  }
  if (request.max_steps > 0 && env.max_episode_steps > request.max_steps) {
    throw Error(ErrorKind::config, {"", 0, "algo_kwargs.max_episode_length"},
                "less than the time limit of " + env.id + " (expected at least " +
                    std::to_string(env.max_episode_steps) + ", got " +
                    std::to_string(request.max_steps) + ")");
  }
  if (!request.raw_rewards) return;
  const auto refuse = [&](const char* key, bool given) {
    if (!given) return;
    throw Error(ErrorKind::config, {"", 0, std::string("algo_kwargs.") + key},
                config.algo +
                    " compares returns in the data with rewards it collects (expected "
                    "untransformed rewards)");
  };
  const auto& reward = config.dataset.reward;
  refuse("reward_preset", !reward.preset.empty());
  refuse("reward_scale", reward.scale.has_value());
  refuse("reward_shift", reward.shift.has_value());
  refuse("reward_clip_min", reward.clip_min.has_value());
  refuse("reward_clip_max", reward.clip_max.has_value());
}

void check_validation(const TrainConfig& config) {
  if (!config.validation.used || config.has_dataset()) return;
  throw Error(ErrorKind::config, {"", 0, "validation"},
              config.algo + " does not learn from a dataset, so no episodes can be held out");
}

// Presets that depend on data cannot be checked here; they are resolved when the data is loaded.
void check_reward(const TrainConfig& config) {
  for (const auto& preset : reward_presets()) {
    if (preset.needs_dataset && config.env.reward.preset == preset.name) return;
  }
  config.env.reward_transform(nullptr);
}

// Rejects generated datasets, because they need an environment.
void check_is_file(const std::string& kind, const std::string& key) {
  if (kind != "random" && kind != "recipe") return;
  throw Error(ErrorKind::config, {"", 0, key},
              kind + " data is generated in an environment (expected a file, or env_id: ID)");
}

void check_environment(const TrainConfig& config) {
  for (const auto& [key, bound] : {std::pair{"action_low", &config.dataset.action_low},
                                   std::pair{"action_high", &config.dataset.action_high}}) {
    if (bound->empty()) continue;
    throw Error(ErrorKind::config, {"", 0, std::string("algo_kwargs.") + key},
                config.env_id + " has its own bounds (expected this key only with env_id: none)");
  }
  const auto environment = make_environment(config.env_id, config.env);
  check_spaces(config, environment->spec());
  const auto all = config.phases();
  check_request(config, environment->spec(), collecting_phase(all) != nullptr);
  const auto* phase = collecting_phase(all);
  if (phase == nullptr) return;
  if (phase->rolls_out()) {
    check_below("algo_kwargs", [&] { check_rollout(config, *phase); });
    return;
  }
  const auto request = config.algorithm->request();
  check_below(config.online.used ? "online" : "algo_kwargs", [&] {
    check_collecting(config, *phase, environment->spec(), environment->goal_task() != nullptr);
  });
  check_below("algo_kwargs", [&] {
    check_replay_columns(request);
    if (phase->collect.her.used) check_hindsight(request);
  });
}

// Checks a config without an environment: rejects keys that need one.
void check_without_environment(const TrainConfig& config) {
  const auto refuse = [](const char* key, const std::string& what) {
    throw Error(ErrorKind::config, {"", 0, key},
                what + " (expected env_id: ID of an environment; it is none)");
  };
  if (config.collects_by_itself()) refuse("algo", config.algo + " learns in an environment");
  if (config.online.used) refuse("online", "a phase in an environment needs one");
  if (config.eval_episodes > 0) refuse("eval_episodes", "episodes are played in an environment");
  const auto& reward = config.env.reward;
  if (!reward.preset.empty() || !config.env.reward_transform(nullptr).identity()) {
    refuse("env_kwargs.wrappers.reward", "no rewards are collected");
  }
  if (config.env.pixels.used) refuse("env_kwargs.wrappers.pixels", "there is nothing to draw");
  if (config.num_envs > 1) refuse("num_envs", "there is nothing to step");
  check_request(config, {}, /*collects=*/false);
  const auto& source = config.dataset.source;
  if (config.dataset.mix.empty() && source.path.empty() && source.id.empty() &&
      source.kind != kMemoryKind) {
    throw Error(ErrorKind::config, {"", 0, "env_id"},
                "missing (expected for example env_id: Pendulum-v1, or to learn from data alone "
                "algo_kwargs.dataset_path: FILE)");
  }
  if (config.dataset.mix.empty()) {
    check_is_file(source.kind, "algo_kwargs.dataset_kind");
  }
  for (size_t i = 0; i < config.dataset.mix.size(); ++i) {
    check_is_file(config.dataset.mix[i].kind,
                  "algo_kwargs.dataset_mix[" + std::to_string(i) + "].kind");
  }
}

}  // namespace

void check_spaces(const TrainConfig& config, const EnvSpec& env) {
  if (fits(find_algorithm(config.algo), env.observation, env.action)) return;
  const auto names = fitting_algorithms(env);
  throw Error(ErrorKind::config, {"", 0, "algo"},
              (config.has_environment() ? env.id + " has " : "the dataset has ") +
                  (env.action.is_discrete() ? "discrete" : "continuous") + " actions and " +
                  (config.has_environment() ? "observes " : "observations are ") +
                  (env.observation.is_image() ? "images" : "vectors") + " (expected " +
                  (names.empty() ? "no algorithm" : join(names, " | ")) + ", got " + config.algo +
                  ")");
}

void TrainConfig::validate() const {
  // The visit functions can also write to the fields that they visit, so they need a non-const
  // object.
  TrainConfig copy = *this;
  check_options([&](OptionVisitor& options) { copy.visit_top_options(options); });
  check_below("algo_kwargs", [&] {
    check_options([&](OptionVisitor& options) { copy.visit_algo_kwargs(options); });
  });
  has_environment() ? check_environment(*this) : check_without_environment(*this);
  check_below("algo_kwargs", [&] {
    algorithm->check();
    if (has_dataset()) dataset.check();
    check_early_stopping(*this);
  });
  check_validation(*this);
  check_reward(*this);
}

}  // namespace rl_training
