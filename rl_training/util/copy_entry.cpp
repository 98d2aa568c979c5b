#include "rl_training/util/copy_entry.h"

#include <cstring>

namespace rl_training {

void copy_long_entry(const void* from, int64_t bytes, void* to) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

}  // namespace rl_training
