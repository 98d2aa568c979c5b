#pragma once
#include <cstdint>

namespace rl_training {

// How many bytes of memory this process may come to use: those of the machine or, if that is less,
// of its control group (containers).
int64_t memory_limit();

}  // namespace rl_training
