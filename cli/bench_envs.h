#pragma once
#include <cstdint>
#include <string>

namespace rl_training {

// `bench --envs`: steps per second of every environment (or of `only`), beside MuJoCo's own
// functions on the same motion, and of vectors of it on one and all threads.
void run_env_bench(const std::string& only, int64_t rounds, bool json);

}  // namespace rl_training
