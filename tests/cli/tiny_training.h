#pragma once
#include <string>
#include <vector>

namespace rl_training {

// `train` of a small network for 60 updates with rows, evaluations and checkpoints every 20. A
// later --set overrides one of these.
inline std::vector<std::string> tiny_training(const std::string& output_dir,
                                              const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"train",        "--config", "td3_bc/pendulum-random",
                                        "--output-dir", output_dir, "--json"};
  for (const char* assignment :
       {"total_timesteps=60", "hidden_sizes=[16]", "dataset_size=500", "batch_size=32",
        "eval_episodes=2", "eval_interval=20", "log_interval=20", "checkpoint_interval=20"}) {
    arguments.insert(arguments.end(), {"--set", assignment});
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace rl_training
