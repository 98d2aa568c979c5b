#pragma once
#include <cstdint>

namespace rl_training {

void copy_long_entry(const void* from, int64_t bytes, void* to);

// Copies one observation or action. Vectors are copied inline, because a call to memcpy would take
// longer than the copy itself: 16 bytes at a time, where the last 16 may overlap the ones before.
inline void copy_entry(const unsigned char* from, int64_t bytes, unsigned char* to) {
  constexpr int64_t kBlock = 16, kShort = 512;
  if (bytes > kShort || bytes % 4 != 0) return copy_long_entry(from, bytes, to);
  if (bytes < kBlock) {
    for (int64_t i = 0; i < bytes; i += 4) __builtin_memcpy(to + i, from + i, 4);
    return;
  }
  for (int64_t i = 0; i + kBlock <= bytes; i += kBlock) __builtin_memcpy(to + i, from + i, kBlock);
  __builtin_memcpy(to + bytes - kBlock, from + bytes - kBlock, kBlock);
}

}  // namespace rl_training
