#pragma once
#include <cstdint>
#include <string>

namespace rl_training {

// `bench --checkpoints`: measures how long it takes to write a checkpoint, and what share of a
// run's time is spent on checkpoints at the default interval. Measures one algorithm, or all if
// `algo` is "" or "all".
void run_checkpoint_bench(const std::string& algo, int64_t rounds, bool json);

}  // namespace rl_training
