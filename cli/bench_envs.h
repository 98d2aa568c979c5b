#pragma once
#include <cstdint>
#include <string>

namespace rl_training {

// `bench --envs`: measures the steps per second of every environment, or only of `only`. Compares
// them with MuJoCo's own functions for the same actions, and measures vectors of copies on one and
// on all threads.
void run_env_bench(const std::string& only, int64_t rounds, bool json);

}  // namespace rl_training
