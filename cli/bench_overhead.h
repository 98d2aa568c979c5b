#pragma once
#include <cstdint>
#include <string>

namespace rl_training {

// `bench --overhead`: measures how much time a run with the default intervals spends on sampling,
// metrics, evaluations and checkpoints, compared with its updates. Measures one algorithm, or all
// that do not observe images if `algo` is "" or "all". The measured runs have `updates` updates, or
// five times as many steps of an environment.
void run_overhead_bench(const std::string& algo, int64_t updates, int64_t rounds, bool json);

}  // namespace rl_training
