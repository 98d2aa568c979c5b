#pragma once
#include <cstdint>
#include <string>

namespace rl_training {

// `bench --envs`: steps per second of every environment (or of `only`), compared with MuJoCo's own
// functions for the same actions, and of vectors of copies on one and on all threads.
void run_env_bench(const std::string& only, int64_t rounds, bool json);

}  // namespace rl_training
