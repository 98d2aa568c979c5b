#include "rl_training/experiment/train_config.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "rl_training/envs/registry.h"
#include "rl_training/experiment/packaged_configs.h"
#include "rl_training/experiment/yaml_reader.h"
#include "rl_training/runtime/hindsight.h"
#include "rl_training/runtime/loop_metrics.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/hash.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

std::vector<std::string> keys_of(const std::function<void(OptionVisitor&)>& visit,
                                 const std::string& prefix = "") {
  std::vector<std::string> keys;
  for (const auto& row : list_options(visit)) {
    if (row.key.find('.') == std::string::npos) keys.push_back(prefix + row.key);
  }
  return keys;
}

std::vector<std::string> top_keys() {
  auto keys = keys_of([](OptionVisitor& options) { TrainConfig().visit_top_options(options); });
  keys.emplace_back("online");
  keys.emplace_back("algo_kwargs");
  keys.emplace_back("env_kwargs");
  return keys;
}

const ConfigNode& required(const ConfigNode& root, const char* key, const char* example) {
  const auto* node = root.find(key);
  if (node == nullptr) {
    root.fail(key, std::string("missing (expected for example ") + key + ": " + example + ")");
  }
  if (node->kind != ConfigNode::Kind::scalar) {
    node->fail(key, "not a name (expected for example " + std::string(example) + ", got " +
                        node->shown() + ")");
  }
  return *node;
}

// Finds the thing a key names; an unknown name is reported at the key's own place.
template <class Find>
void check_name(const ConfigNode& node, const char* key, const Find& find) {
  try {
    find();
  } catch (const Error& error) {
    node.fail(key, error.message());
  }
}

// The node of a dotted key, or the one nearest to it on the way there.
const ConfigNode& place_of(const ConfigNode& root, const std::string& key) {
  const ConfigNode* node = &root;
  std::istringstream names(key);
  for (std::string name; std::getline(names, name, '.');) {
    if (node->kind != ConfigNode::Kind::map) break;
    const auto* inner = node->find(name.substr(0, name.find('[')));
    if (inner == nullptr) break;
    node = inner;
  }
  return *node;
}

// Runs a check whose errors name a key below `map`.
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

// Names of the algorithms that take such actions and observations.
std::vector<std::string> fitting_algorithms(const EnvSpec& env) {
  std::vector<std::string> names;
  for (const auto& info : algorithms()) {
    if (fits(info, env.observation, env.action)) names.push_back(info.name);
  }
  return names;
}

void check_spaces(const TrainConfig& config, const EnvSpec& env) {
  if (fits(find_algorithm(config.algo), env.observation, env.action)) return;
  const auto names = fitting_algorithms(env);
  throw Error(ErrorKind::config, {"", 0, "algo"},
              env.id + " has " + (env.action.is_discrete() ? "discrete" : "continuous") +
                  " actions and observes " + (env.observation.is_image() ? "images" : "vectors") +
                  " (expected " + (names.empty() ? "no algorithm there is" : join(names, " | ")) +
                  ", got " + config.algo + ")");
}

void check_early_stopping(const TrainConfig& config) {
  const auto names = metric_names(config);
  const auto& metric = config.early_stopping.metric;
  if (std::find(names.begin(), names.end(), metric) != names.end()) return;
  throw Error(ErrorKind::config, {"", 0, "early_stopping.metric"},
              "no such metric: " + metric + " (expected one of " + join(names, ", ") +
                  did_you_mean(metric, names) + ")");
}

// What the algorithm's batches demand of the rest of the config.
void check_request(const TrainConfig& config, const EnvSpec& env, bool collects) {
  const auto request = config.algorithm->request();
  if (collects && request.window > 0) {
    throw Error(ErrorKind::config, {"", 0, config.online.used ? "online" : "algo"},
                config.algo +
                    " learns from pieces of whole episodes, which a replay buffer does "
                    "not give (expected training from data alone)");
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
                    " compares returns of the data with rewards that it earns (expected "
                    "rewards as they are)");
  };
  const auto& reward = config.dataset.reward;
  refuse("reward_preset", !reward.preset.empty());
  refuse("reward_scale", reward.scale.has_value());
  refuse("reward_shift", reward.shift.has_value());
  refuse("reward_clip_min", reward.clip_min.has_value());
  refuse("reward_clip_max", reward.clip_max.has_value());
}

// Presets that depend on the data are resolved once there is some.
void check_reward(const TrainConfig& config) {
  for (const auto& preset : reward_presets()) {
    if (preset.needs_dataset && config.env.reward.preset == preset.name) return;
  }
  config.env.reward_transform(nullptr);
}

}  // namespace

void TrainConfig::visit_top_options(OptionVisitor& options) {
  options.text("algo", algo, "name of the algorithm");
  options.text("env_id", env_id, "environment of the evaluation");
  options.integer("seed", seed, at_least(0), "seed of every random stream of the run");
  options.integer("eval_seed", eval_seed, at_least(0),
                  "seed of the evaluation episodes, the same for all seeds of an experiment");
  options.integer("total_timesteps", total_timesteps, at_least(1),
                  "gradient updates (offline) or environment steps (online)");
  options.text("output_dir", output_dir, "directory in which run directories are made");
  options.choice("device", device, {"cpu", "auto"}, "where networks live: the CPU");
  options.integer("threads", threads, between(0, 1024),
                  "threads to use; 0 takes all cores. Results do not depend on it");
  options.integer("num_envs", num_envs, between(1, 4096), "environments stepped together (online)");
  options.integer("eval_episodes", eval_episodes, at_least(0),
                  "episodes of an evaluation; 0 disables evaluation");
  options.integer("eval_interval", eval_interval, at_least(1), "updates between evaluations");
  options.integer("log_interval", log_interval, at_least(1), "updates between rows of metrics");
  options.integer("checkpoint_interval", checkpoint_interval, at_least(1),
                  "updates between checkpoints");
  options.texts("tags", tags, "free words kept with the run");
  if (algorithm != nullptr && collects_by_itself()) return;
  options.group(
      "online", "a phase in the environment after the updates on the dataset",
      [this](OptionVisitor& inner) { online.visit_options(inner); }, &online.used,
      "total_timesteps");
}

void OnlineStage::visit_options(OptionVisitor& options) {
  options.integer("total_timesteps", total_timesteps, at_least(1), "environment steps");
  collect.visit_options(options);
  options.number("offline_batch_ratio", offline_batch_ratio, between(0, 1),
                 "share of the dataset in every minibatch; none draws from all rows alike");
}

bool TrainConfig::collects_by_itself() const {
  return collecting_phase(algorithm->phases(total_timesteps)) != nullptr;
}

std::vector<PhaseSpec> TrainConfig::phases() const {
  auto phases = algorithm->phases(total_timesteps);
  for (auto& phase : phases) {
    if (!phase.collects()) continue;
    phase.warmup_steps = schedule.warmup_steps;
    phase.min_buffer_size = budget.min_buffer_size;
  }
  if (online.used) {
    // The updates on data have the schedule to themselves; afterwards the rate is again the one
    // they began with.
    for (auto& phase : phases) phase.schedule = PhaseSpec::Schedule::phase;
    phases.push_back({.name = "online",
                      .source = PhaseSpec::Source::mixture,
                      .length = online.total_timesteps,
                      .schedule = PhaseSpec::Schedule::constant,
                      .collect = online.collect,
                      .data_share = online.offline_batch_ratio});
  }
  for (auto& phase : phases) {
    // All environments step together, so the last step may end a little later.
    if (phase.collects()) {
      phase.length = (phase.length + num_envs - 1) / num_envs * num_envs;
    }
  }
  return phases;
}

void TrainConfig::visit_algo_kwargs(OptionVisitor& options) {
  algorithm->visit_options(options);
  schedule.visit_options(options);
  budget.visit_options(options);
  early_stopping.visit_options(options);
  if (has_dataset()) dataset.visit_options(options);
}

std::vector<std::string> metric_names(const TrainConfig& config) {
  std::vector<std::string> names;
  append_names<ProgressMetrics>(names);
  append_names<EvaluationMetrics>(names);
  const auto& metrics = find_algorithm(config.algo).metrics;
  names.insert(names.end(), metrics.begin(), metrics.end());
  for (auto& name : collecting_metric_names(config)) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> collecting_metric_names(const TrainConfig& config) {
  std::vector<std::string> names;
  const auto phases = config.phases();
  const auto* collecting = collecting_phase(phases);
  if (collecting != nullptr) append_names<CollectMetrics>(names);
  if (collecting != nullptr && collecting->reads_data()) append_names<MixtureMetrics>(names);
  return names;
}

TrainConfig default_config(const std::string& algo) {
  TrainConfig config;
  config.algo = algo;
  const auto& info = find_algorithm(algo);
  config.algorithm = info.make_options();
  config.online.offline_batch_ratio = info.online_data_share;
  return config;
}

TrainConfig read_train_config(const ConfigNode& root) {
  const auto& algo = required(root, "algo", "td3_bc");
  TrainConfig config;
  check_name(algo, "algo", [&] { config = default_config(algo.text); });
  const auto& env_id = required(root, "env_id", "Pendulum-v1");
  check_name(env_id, "env_id", [&] { make_environment(env_id.text); });

  // The algorithm's own keys decide whether it collects, and with that whether `online` is a key.
  const auto visit_kwargs = [&](OptionVisitor& options) { config.visit_algo_kwargs(options); };
  if (const auto* node = root.find("algo_kwargs")) {
    OptionReader reader(*node, "algo_kwargs");
    visit_kwargs(reader);
    reader.finish(top_keys());
  }
  OptionReader top(root, "");
  config.visit_top_options(top);
  top.accept("algo_kwargs");
  top.accept("env_kwargs");
  top.finish(keys_of(visit_kwargs, "algo_kwargs."));

  if (const auto* node = root.find("env_kwargs")) {
    OptionReader reader(*node, "env_kwargs");
    config.visit_env_kwargs(reader);
    reader.finish(top_keys(), config.env_id);
  }
  try {
    config.validate();
  } catch (const Error& error) {
    place_of(root, error.place().key).fail(error.place().key, error.message());
  }
  return config;
}

void TrainConfig::validate() const {
  TrainConfig copy = *this;  // visiting is written for reading too, hence wants non-const fields
  check_options([&](OptionVisitor& options) { copy.visit_top_options(options); });
  check_below("algo_kwargs", [&] {
    check_options([&](OptionVisitor& options) { copy.visit_algo_kwargs(options); });
  });
  const auto environment = make_environment(env_id, env);
  check_spaces(*this, environment->spec());
  const auto all = phases();
  check_request(*this, environment->spec(), collecting_phase(all) != nullptr);
  if (const auto* phase = collecting_phase(all)) {
    const auto request = algorithm->request();
    check_below(online.used ? "online" : "algo_kwargs", [&] {
      check_collecting(*this, *phase, environment->spec(), environment->goal_task() != nullptr);
    });
    check_below("algo_kwargs", [&] {
      check_replay_columns(request);
      if (phase->collect.her.used) check_hindsight(request);
    });
  }
  check_below("algo_kwargs", [&] {
    algorithm->check();
    if (read_data(all)) dataset.check();
    check_early_stopping(*this);
  });
  check_reward(*this);
}

Json write_train_config(const TrainConfig& config) {
  TrainConfig copy = config;  // visiting is written for reading too, hence wants non-const fields
  Json json = write_options([&](OptionVisitor& options) { copy.visit_top_options(options); });
  json["algo_kwargs"] =
      write_options([&](OptionVisitor& options) { copy.visit_algo_kwargs(options); });
  json["env_kwargs"] =
      write_options([&](OptionVisitor& options) { copy.visit_env_kwargs(options); });
  return json;
}

std::string config_hash(const TrainConfig& config) {
  Json json = write_train_config(config);
  for (const char* key : {"threads", "output_dir", "tags", "total_timesteps"}) json.erase(key);
  if (config.online.used) json["online"].erase("total_timesteps");
  return sha256_hex(json.dump());
}

ConfigNode load_config(const std::string& file_or_name) {
  auto& files = posix_file_system();
  std::vector<std::string> names;
  for (const auto& config : packaged_configs()) {
    if (config.name == file_or_name) return read_yaml(config.text, config.name);
    names.push_back(config.name);
  }
  if (!files.exists(file_or_name)) {
    throw Error(ErrorKind::config, {file_or_name, 0, ""},
                "no such file, and no packaged config of that name (nearest: " +
                    join(nearest_names(file_or_name, names, 3), ", ") + "; see `config list`)");
  }
  return read_yaml(files.read_file(file_or_name), file_or_name);
}

void set_config_value(ConfigNode& root, const std::string& assignment, const std::string& origin) {
  const auto equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(ErrorKind::config, {origin, 0, ""},
                "not an assignment (expected key=value, got " + assignment + ")");
  }
  std::string path = assignment.substr(0, equals);
  const auto top = top_keys();
  const auto first = path.substr(0, path.find('.'));
  if (std::find(top.begin(), top.end(), first) == top.end()) path = "algo_kwargs." + path;

  ConfigNode* map = &root;
  for (size_t dot; (dot = path.find('.')) != std::string::npos; path = path.substr(dot + 1)) {
    const auto name = path.substr(0, dot);
    if (map->find(name) == nullptr || map->find(name)->kind == ConfigNode::Kind::null) {
      auto made = ConfigNode::map();
      made.file = origin;
      map->set(name, std::move(made));
    }
    map = map->find(name);
    if (map->kind != ConfigNode::Kind::map) {
      throw Error(ErrorKind::config, {origin, 0, assignment.substr(0, equals)},
                  "`" + name + "` is " + map->kind_name() + ", not a map of keys");
    }
  }
  map->set(path, read_yaml_value(assignment.substr(equals + 1), origin));
}

}  // namespace rl_training
