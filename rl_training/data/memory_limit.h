#pragma once
#include <cstdint>
#include <string>

namespace rl_training {

// How many bytes of memory this process may come to use: those of the machine or, if that is less,
// of its control group or one around it (containers). `root`: where / is, for tests.
int64_t memory_limit(const std::string& root = "");

}  // namespace rl_training
