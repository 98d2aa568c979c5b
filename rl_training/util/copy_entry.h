#pragma once
#include <cstdint>

namespace rl_training {

void copy_long_entry(const void* from, int64_t bytes, void* to);

// Copies one observation or action. Short vectors are copied inline, four bytes at a time, because
// a call to memcpy would take longer than the copy itself.
inline void copy_entry(const unsigned char* from, int64_t bytes, unsigned char* to) {
  constexpr int64_t kShort = 32;
  if (bytes > kShort || bytes % 4 != 0) return copy_long_entry(from, bytes, to);
  for (int64_t i = 0; i < bytes; i += 4) __builtin_memcpy(to + i, from + i, 4);
}

}  // namespace rl_training
