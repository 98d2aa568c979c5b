#include "rl_training/data/column.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace rl_training {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

size_t rounded_up(size_t value, size_t step) { return (value + step - 1) / step * step; }

// In huge pages as far as whole ones are filled, which are taken in a fraction of the time.
std::shared_ptr<void> allocate_pages(size_t bytes) {
  const size_t mapped = bytes + kHugePage;
  void* start = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<size_t>(start);
  void* aligned = static_cast<char*>(start) + (rounded_up(address, kHugePage) - address);
  ::madvise(aligned, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // no harm where it is refused
  return {aligned, [start, mapped](void*) { ::munmap(start, mapped); }};
}

}  // namespace

std::shared_ptr<void> HeapMemory::allocate(int64_t bytes) {
  constexpr size_t kAlignment = 64;
  const size_t size = rounded_up(static_cast<size_t>(std::max<int64_t>(bytes, 1)), kAlignment);
  if (size >= 2 * kHugePage) return allocate_pages(size);
  void* memory = std::aligned_alloc(kAlignment, size);
  if (!memory) throw std::bad_alloc();
  std::memset(memory, 0, size);
  return {memory, std::free};
}

}  // namespace rl_training
