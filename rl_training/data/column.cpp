#include "rl_training/data/column.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace rl_training {
namespace {

size_t rounded_up(size_t value, size_t step) { return (value + step - 1) / step * step; }

// Returns zero-filled pages. The kernel allocates each page when it is first written.
std::shared_ptr<void> allocate_pages(size_t bytes) {
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  return {start, [bytes](void* memory) { ::munmap(memory, bytes); }};
}

}  // namespace

void ArrayMemory::store(void* target, const void* data, int64_t bytes) {
  std::memcpy(target, data, static_cast<size_t>(bytes));
}

std::shared_ptr<void> HeapMemory::allocate(int64_t bytes) {
  constexpr size_t kAlignment = 64, kManyBytes = size_t{1} << 20;
  const size_t size = rounded_up(static_cast<size_t>(std::max<int64_t>(bytes, 1)), kAlignment);
  if (size >= kManyBytes) return allocate_pages(size);
  void* memory = std::aligned_alloc(kAlignment, size);
  if (!memory) throw std::bad_alloc();
  std::memset(memory, 0, size);
  return {memory, std::free};
}

}  // namespace rl_training
