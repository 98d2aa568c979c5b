#pragma once
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/program.h"

namespace rl_training {

// Returns a `train` command for a small network: 60 updates, with logging, evaluations and
// checkpoints every 20 updates. A --set in `more` overrides these values.
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

// Returns the run directory in `output_dir`, which contains at most one run, or "" if there is none
// yet.
inline std::string only_run_in(const std::string& output_dir) {
  if (!std::filesystem::exists(output_dir)) return "";
  for (const auto& entry : std::filesystem::directory_iterator(output_dir)) {
    if (!entry.path().filename().string().starts_with(".")) return entry.path().string();
  }
  return "";
}

inline std::string tensors_at(const std::string& run_dir, int64_t step) {
  char name[32];
  std::snprintf(name, sizeof(name), "step-%09lld", static_cast<long long>(step));
  return read_all(run_dir + "/checkpoints/" + name + "/tensors.safetensors");
}

}  // namespace rl_training
