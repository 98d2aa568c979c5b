#include "rl_training/data/column.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace rl_training {

std::shared_ptr<void> HeapMemory::allocate(int64_t bytes) {
  constexpr size_t kAlignment = 64;
  const size_t size =
      (static_cast<size_t>(std::max<int64_t>(bytes, 1)) + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, size);
  if (!memory) throw std::bad_alloc();
  std::memset(memory, 0, size);
  return {memory, std::free};
}

}  // namespace rl_training
