#pragma once
#include <cstdint>
#include <string>

namespace rl_training {

// `bench --envs`: measures the steps per second of every environment, or only of the environment
// `only`. Compares MuJoCo environments with direct calls to MuJoCo for the same actions. Also
// measures vectors of copies of an environment on one thread and on all threads.
void run_env_bench(const std::string& only, int64_t rounds, bool json);

}  // namespace rl_training
