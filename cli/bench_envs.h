#pragma once
#include <cstdint>

namespace rl_training {

// `bench --envs`: steps a second of every environment, beside MuJoCo's own functions on the same
// motion, and of vectors of it on one and all threads.
void run_env_bench(int64_t rounds, bool json);

}  // namespace rl_training
