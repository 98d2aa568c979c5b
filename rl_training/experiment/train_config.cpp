#include "rl_training/experiment/train_config.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

#include "rl_training/envs/registry.h"
#include "rl_training/experiment/packaged_configs.h"
#include "rl_training/experiment/yaml_reader.h"
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

// Calls `find`, which looks up the name that `node` contains. If `find` throws, the error gets the
// position of `node` and the key.
template <class Find>
void check_name(const ConfigNode& node, const char* key, const Find& find) {
  try {
    find();
  } catch (const Error& error) {
    node.fail(key, error.message());
  }
}

// Reads `env_id`. Returns `none` if the key is missing or empty.
std::string read_env_id(const ConfigNode& root) {
  const auto* node = root.find("env_id");
  if (node == nullptr || node->kind == ConfigNode::Kind::null) return kNoEnvironment;
  return required(root, "env_id", "Pendulum-v1").text;
}

bool can_be_made(const std::string& env_id) {
  const auto* info = find_environment(env_id);
  return env_id == kNoEnvironment || (info != nullptr && info->unavailable.empty());
}

// The node of a dotted key, or its nearest existing ancestor.
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

}  // namespace

void TrainConfig::visit_top_options(OptionVisitor& options) {
  options.text("algo", algo, "name of the algorithm");
  options.text("env_id", env_id,
               "environment for evaluation and collection; none learns from data alone");
  options.integer("seed", seed, at_least(0),
                  "seed of the networks, batches, noise and environments of the run");
  options.integer("eval_seed", eval_seed, at_least(0),
                  "seed of the evaluation episodes, the same for all seeds of an experiment");
  options.integer("total_timesteps", total_timesteps, at_least(1),
                  "gradient updates (offline) or environment steps (online)");
  options.text("output_dir", output_dir, "directory in which run directories are created");
  options.choice("device", device, {"cpu", "auto"}, "always the CPU");
  options.integer("threads", threads, between(0, 1024),
                  "number of threads; 0 finds the fastest number, up to all cores. Results do "
                  "not depend on it");
  options.integer("num_envs", num_envs, between(1, 4096), "environments stepped together (online)");
  options.integer("eval_episodes", eval_episodes, at_least(0),
                  "episodes per evaluation; 0 disables evaluation");
  options.integer("eval_interval", eval_interval, at_least(1),
                  "updates, or environment steps online, between evaluations");
  options.integer("log_interval", log_interval, at_least(1),
                  "updates, or environment steps online, between rows of metrics");
  options.integer("checkpoint_interval", checkpoint_interval, at_least(1),
                  "updates, or environment steps online, between checkpoints");
  options.texts("tags", tags, "free-form words stored with the run");
  options.group(
      "validation", "held-out episodes on which the policy is measured",
      [this](OptionVisitor& inner) { validation.visit_options(inner); }, &validation.used,
      "fraction");
  if (algorithm != nullptr && collects_by_itself()) return;
  options.group(
      "online", "an online phase in the environment after the updates on the dataset",
      [this](OptionVisitor& inner) { online.visit_options(inner); }, &online.used,
      "total_timesteps");
}

void OnlineStage::visit_options(OptionVisitor& options) {
  options.integer("total_timesteps", total_timesteps, at_least(1), "environment steps");
  collect.visit_options(options);
  options.number("offline_batch_ratio", offline_batch_ratio, between(0, 1),
                 "share of dataset rows in every minibatch; none draws uniformly from all rows");
  options.integer("warmup_steps", warmup_steps, at_least(0),
                  "environment steps collected with the policy before the first update");
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
    // The learning-rate schedule spans only the offline updates. Afterwards the initial rate is
    // used.
    for (auto& phase : phases) phase.schedule = PhaseSpec::Schedule::phase;
    phases.push_back({.name = "online",
                      .source = PhaseSpec::Source::mixture,
                      .length = online.total_timesteps,
                      .schedule = PhaseSpec::Schedule::constant,
                      .collect = online.collect,
                      .data_share = online.offline_batch_ratio,
                      .warmup_steps = online.warmup_steps});
  }
  for (auto& phase : phases) {
    // Lengths are rounded up, because all environments step together and rollouts are used as a
    // whole.
    if (phase.collects()) {
      const int64_t unit = phase.rolls_out() ? phase.rollout.steps : num_envs;
      if (unit > 0) phase.length = (phase.length + unit - 1) / unit * unit;
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
  if (config.has_environment()) append_names<EvaluationMetrics>(names);
  const auto& info = find_algorithm(config.algo);
  const auto& metrics = info.metrics;
  if (config.validation.used && info.has_values) append_names<ValidationMetrics>(names);
  if (config.validation.used && !info.has_values) names.emplace_back("validation_action_error");
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

TrainConfig read_train_config(const ConfigNode& root, ConfigUse use) {
  const auto& algo = required(root, "algo", "td3_bc");
  TrainConfig config;
  check_name(algo, "algo", [&] { config = default_config(algo.text); });
  const auto env_id = read_env_id(root);
  const bool needed = use == ConfigUse::training || can_be_made(env_id);
  if (env_id == kNoEnvironment) {
    config.eval_episodes = 0;
    config.dataset.source.kind = "auto";
  } else if (needed) {
    check_name(*root.find("env_id"), "env_id", [&] { make_environment(env_id); });
  }

  // Read algo_kwargs first: the algorithm's own keys decide whether it collects, and therefore
  // whether `online` is allowed.
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
  config.env_id = env_id;
  if (!needed) return config;  // without the environment, its keys and spaces are not known

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

Json write_train_config(const TrainConfig& config) {
  // The visit functions can also write to the fields that they visit, so they need a non-const
  // object.
  TrainConfig copy = config;
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
  json["algo_kwargs"].erase("dataset_path");  // the fingerprint identifies the data
  if (config.online.used) json["online"].erase("total_timesteps");
  return sha256_hex(json.dump());
}

std::string absolute_path(const std::string& path) {
  std::error_code code;
  const auto full = std::filesystem::absolute(path, code);
  return code ? path : full.lexically_normal().string();
}

std::string task_name(const TrainConfig& config) {
  if (config.has_environment()) return config.env_id;
  const auto& source = config.dataset.source;
  if (!config.dataset.mix.empty()) return "mix";
  if (source.kind == kMemoryKind) return kMemoryKind;
  return source.path.empty() ? source.id : std::filesystem::path(source.path).stem().string();
}

TrainConfig with_absolute_paths(TrainConfig config) {
  const auto place = [](std::string& path) {
    std::error_code code;
    if (!path.empty() && std::filesystem::exists(path, code)) path = absolute_path(path);
  };
  place(config.dataset.source.path);
  for (auto& part : config.dataset.mix) place(part.path);
  config.output_dir = absolute_path(config.output_dir.empty() ? "." : config.output_dir);
  return config;
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

void set_config_key(ConfigNode& root, const std::string& key, ConfigNode value,
                    const std::string& origin) {
  std::string path = key;
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
      throw Error(ErrorKind::config, {origin, 0, key},
                  "`" + name + "` is " + map->kind_name() + ", not a map of keys");
    }
  }
  map->set(path, std::move(value));
}

void set_config_value(ConfigNode& root, const std::string& assignment, const std::string& origin) {
  const auto equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(ErrorKind::config, {origin, 0, ""},
                "not an assignment (expected key=value, got " + assignment + ")");
  }
  const auto key = assignment.substr(0, equals);
  try {
    set_config_key(root, key, read_yaml_value(assignment.substr(equals + 1), origin), origin);
  } catch (const Error& error) {
    if (!error.place().key.empty()) throw;
    throw Error(error.kind(), {error.place().file, error.place().line, key}, error.message());
  }
}

}  // namespace rl_training
