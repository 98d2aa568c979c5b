#include "rl_training/experiment/train_config.h"

#include <algorithm>
#include <utility>

#include "rl_training/envs/registry.h"
#include "rl_training/experiment/packaged_configs.h"
#include "rl_training/experiment/yaml_reader.h"
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

bool has_goals(const std::string& env_id) {
  return make_environment(env_id)->goal_task() != nullptr;
}

// Rules between keys of one map. Errors name a key below it; the place is that of the key in the
// file, where it is there.
void check_map(const ConfigNode& root, const std::string& name,
               const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& error) {
    const auto* map = root.find(name);
    const auto& key = error.place().key;
    const ConfigNode* node = nullptr;
    if (map != nullptr && map->kind == ConfigNode::Kind::map) {
      node = map->find(key.substr(0, key.find('[')));
    }
    if (node == nullptr) node = map == nullptr ? &root : map;
    node->fail(name + "." + key, error.message());
  }
}

void check_together(const ConfigNode& root, const TrainConfig& config) {
  check_map(root, config.goes_online ? "online" : "algo_kwargs", [&] {
    const auto* online = config.online();
    if (online == nullptr) return;
    online->check(config.algorithm->batch_size, config.num_envs);
    if (!config.goes_online && config.budget.min_buffer_size > online->buffer_capacity) {
      throw Error(ErrorKind::config, {"", 0, "min_buffer_size"},
                  "more than the buffer holds (expected at most buffer_capacity " +
                      std::to_string(online->buffer_capacity) + ", got " +
                      std::to_string(config.budget.min_buffer_size) + ")");
    }
    if (online->her.used && !has_goals(config.env_id)) {
      throw Error(ErrorKind::config, {"", 0, "her"},
                  "the task has no goals (expected one such as RL-PointGoal1D-v0, got " +
                      config.env_id + ")");
    }
  });
  check_map(root, "algo_kwargs", [&] {
    config.algorithm->check();
    if (config.has_dataset()) config.dataset.check();
    const auto names = metric_names(config);
    const auto& metric = config.early_stopping.metric;
    if (std::find(names.begin(), names.end(), metric) == names.end()) {
      throw Error(ErrorKind::config, {"", 0, "early_stopping"},
                  "no such metric: " + metric + " (expected one of " + join(names, ", ") +
                      did_you_mean(metric, names) + ")");
    }
  });
}

// Presets that depend on the data are resolved once there is some.
void check_reward(const ConfigNode& root, const TrainConfig& config) {
  for (const auto& preset : reward_presets()) {
    if (preset.needs_dataset && config.env.reward.preset == preset.name) return;
  }
  try {
    config.env.reward_transform(nullptr);
  } catch (const Error& error) {
    root.find("env_kwargs")->fail(error.place().key, error.message());
  }
}

void check_device(const ConfigNode& root, const TrainConfig& config) {
  if (config.device != "cuda") return;
  root.find("device")->fail("device", "this build has no CUDA (expected cpu | auto, got cuda)");
}

}  // namespace

void TrainConfig::visit_top_options(OptionVisitor& options) {
  options.text("algo", algo, "name of the algorithm");
  options.text("env_id", env_id, "environment of the evaluation");
  options.integer("seed", seed, at_least(0), "seed of every random stream of the run");
  options.integer("total_timesteps", total_timesteps, at_least(1),
                  "gradient updates (offline) or environment steps (online)");
  options.text("output_dir", output_dir, "directory in which run directories are made");
  options.choice("device", device, {"cpu", "cuda", "auto"}, "where networks live");
  options.integer("threads", threads, between(0, 1024),
                  "threads to use; 0 takes all cores. Results do not depend on it");
  options.integer("num_envs", num_envs, between(1, 4096), "environments stepped together (online)");
  options.integer("eval_episodes", eval_episodes, at_least(0),
                  "episodes of an evaluation; 0 evaluates never");
  options.integer("eval_interval", eval_interval, at_least(1), "updates between evaluations");
  options.integer("log_interval", log_interval, at_least(1), "updates between rows of metrics");
  options.integer("checkpoint_interval", checkpoint_interval, at_least(1),
                  "updates between checkpoints");
  options.texts("tags", tags, "free words kept with the run");
  if (algorithm != nullptr && algorithm->online() != nullptr) return;
  options.group(
      "online", "goes on in the environment after the updates from the dataset",
      [this](OptionVisitor& inner) {
        inner.integer("total_timesteps", online_timesteps, at_least(1), "environment steps");
        fine_tuning.visit_options(inner);
      },
      &goes_online, "total_timesteps");
}

const OnlineOptions* TrainConfig::online() const {
  if (const auto* own = std::as_const(*algorithm).online()) return own;
  return goes_online ? &fine_tuning : nullptr;
}

bool TrainConfig::has_dataset() const { return find_algorithm(algo).from_data; }

void TrainConfig::visit_algo_kwargs(OptionVisitor& options) {
  algorithm->visit_options(options);
  schedule.visit_options(options);
  budget.visit_options(options);
  early_stopping.visit_options(options);
  if (has_dataset()) dataset.visit_options(options);
}

std::vector<std::string> metric_names(const TrainConfig& config) {
  std::vector<std::string> names = {"global_step",      "update_count",    "epoch",
                                    "learning_rate",    "lr_scale",        "dataset_size",
                                    "eval_return_mean", "eval_return_std", "eval_length_mean",
                                    "normalized_score"};
  if (has_goals(config.env_id)) names.emplace_back("eval_success_rate");
  const auto& metrics = find_algorithm(config.algo).metrics;
  names.insert(names.end(), metrics.begin(), metrics.end());
  for (auto& name : online_metric_names(config)) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> online_metric_names(const TrainConfig& config) {
  if (config.online() == nullptr) return {};
  std::vector<std::string> names = {"buffer_size", "episodes", "train_return_mean"};
  if (!config.has_dataset()) return names;
  for (const char* name : {"pretrain_updates_done", "offline_batch_size", "online_batch_size"}) {
    names.emplace_back(name);
  }
  return names;
}

TrainConfig default_config(const std::string& algo) {
  TrainConfig config;
  config.algo = algo;
  const auto& info = find_algorithm(algo);
  config.algorithm = info.make_options();
  if (info.one_buffer) config.fine_tuning.offline_batch_ratio.reset();
  return config;
}

TrainConfig read_train_config(const ConfigNode& root) {
  const auto& algo = required(root, "algo", "td3_bc");
  TrainConfig config;
  check_name(algo, "algo", [&] { config = default_config(algo.text); });
  const auto& env_id = required(root, "env_id", "Pendulum-v1");
  check_name(env_id, "env_id", [&] { make_environment(env_id.text); });

  OptionReader top(root, "");
  config.visit_top_options(top);
  top.accept("algo_kwargs");
  top.accept("env_kwargs");
  const auto visit_kwargs = [&](OptionVisitor& options) { config.visit_algo_kwargs(options); };
  top.finish(keys_of(visit_kwargs, "algo_kwargs."));
  check_device(root, config);

  if (const auto* node = root.find("algo_kwargs")) {
    OptionReader reader(*node, "algo_kwargs");
    visit_kwargs(reader);
    reader.finish(top_keys());
  }
  if (const auto* node = root.find("env_kwargs")) {
    OptionReader reader(*node, "env_kwargs");
    config.visit_env_kwargs(reader);
    reader.finish(top_keys(), config.env_id);
  }
  check_together(root, config);
  check_reward(root, config);
  return config;
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
  if (config.goes_online) json["online"].erase("total_timesteps");
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
