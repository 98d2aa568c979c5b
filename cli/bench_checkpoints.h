#pragma once
#include <cstdint>
#include <string>

namespace rl_training {

// `bench --checkpoints`: the time of a checkpoint and its share of a run that writes one at the
// default interval, for one algorithm, or for all if `algo` is "" or "all".
void run_checkpoint_bench(const std::string& algo, int64_t rounds, bool json);

}  // namespace rl_training
