#pragma once
#include <cstdint>
#include <string>

namespace rl_training {

// `bench --checkpoints`: measures the time of a checkpoint, and its share of a run that writes
// checkpoints at the default interval. Measures one algorithm, or all if `algo` is "" or "all".
void run_checkpoint_bench(const std::string& algo, int64_t rounds, bool json);

}  // namespace rl_training
