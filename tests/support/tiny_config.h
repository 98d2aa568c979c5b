#pragma once
#include <string>
#include <vector>

#include "rl_training/experiment/packaged_configs.h"
#include "rl_training/experiment/train_config.h"

namespace rl_training {

// Returns the name of one of the algorithm's packaged configs that starts quickly. Such a config
// has a small task and generates its dataset, if it uses one.
inline std::string starter_config(const std::string& algo) {
  for (const char* task : {"/pendulum-random", "/pendulum", "/cartpole", "/cartpole-medium"}) {
    for (const auto& packaged : packaged_configs()) {
      if (packaged.name == algo + task) return packaged.name;
    }
  }
  return algo + ": no starter config";
}

// Returns a small version of a packaged config: 60 updates on 600 rows, or 60 environment steps.
// Logging, evaluations and checkpoints have different intervals. `more` contains further
// assignments in the format of --set.
inline TrainConfig tiny_config(const std::string& algo, const std::string& output_dir,
                               const std::vector<std::string>& more = {}) {
  auto root = load_config(starter_config(algo));
  for (const char* assignment :
       {"total_timesteps=60", "batch_size=32", "eval_episodes=2", "eval_interval=20",
        "log_interval=5", "checkpoint_interval=7", "threads=1"}) {
    set_config_value(root, assignment);
  }
  // Reduces the size of the networks.
  std::vector<std::string> keys;
  for (const auto& [key, value] : root.find("algo_kwargs")->entries) keys.push_back(key);
  for (const auto& key : keys) {
    if (key.ends_with("hidden_sizes")) set_config_value(root, key + "=[16,16]");
    if (key == "embed_dim") set_config_value(root, "embed_dim=16");
    if (key == "encoder_channels") set_config_value(root, "encoder_channels=4");
    if (key == "context_length") set_config_value(root, "context_length=4");
  }
  const auto config = default_config(algo);
  if (find_algorithm(algo).image_observations) {
    set_config_value(root, "env_kwargs.wrappers.pixels.size=16");
  }
  if (config.has_dataset()) set_config_value(root, "dataset_size=600");
  const auto phases = config.phases();
  if (phases.front().rolls_out()) {
    // Some checkpoints fall in the middle of a rollout, and some precede the first update.
    set_config_value(root, "rollout_steps=20");
    set_config_value(root, "num_envs=2");
    set_config_value(root, "batch_size=4");
  } else if (config.collects_by_itself()) {
    // The buffer overflows before the end of the run, and training starts after the first
    // checkpoint.
    set_config_value(root, "learning_starts=10");
    set_config_value(root, "buffer_capacity=40");
    set_config_value(root, "gradient_updates_per_step=2");
  }
  set_config_value(root, "output_dir=" + Json(output_dir).dump());
  for (const auto& assignment : more) set_config_value(root, assignment);
  return read_train_config(root);
}

}  // namespace rl_training
