#pragma once
#include <cstdint>
#include <string>

namespace rl_training {

// Memory limit of this process in bytes: the memory of the machine, or the limit of the process's
// control groups if that is lower. Containers set such limits. `root` replaces / in tests.
int64_t memory_limit(const std::string& root = "");

}  // namespace rl_training
