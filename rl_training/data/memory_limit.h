#pragma once
#include <cstdint>
#include <string>

namespace rl_training {

// Memory limit of this process in bytes: the machine's memory or, if lower, the limit of its
// control group or of an enclosing one (containers). `root` replaces / in tests.
int64_t memory_limit(const std::string& root = "");

}  // namespace rl_training
