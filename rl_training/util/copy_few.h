#pragma once
#include <cstdint>

namespace rl_training {

void copy_many(const float* from, int64_t count, float* to);

// Numbers of one row; so few of them as most rows have are not worth the call that copying takes.
inline void copy_few(const float* from, int64_t count, float* to) {
  constexpr int64_t kFew = 8;
  if (count > kFew) return copy_many(from, count, to);
  for (int64_t i = 0; i < count; ++i) to[i] = from[i];
}

}  // namespace rl_training
