#include "rl_training/models/tensor_memory.h"

#include <c10/core/CPUAllocator.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <new>

namespace rl_training {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSmallest = 64, kLargest = size_t{1} << 20;  // larger ones are not kept
constexpr size_t kKeptBytes = size_t{4} << 20;                // of each size, at most

// What stands before the memory that is handed out.
struct alignas(kAlignment) Block {
  Block* next;
  size_t size;
};
static_assert(sizeof(Block) == kAlignment);

// For a few instructions at a time, hardly ever by two threads.
class SpinLock {
 public:
  explicit SpinLock(std::atomic_flag& busy) : busy_(busy) {
    while (busy_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~SpinLock() { busy_.clear(std::memory_order_release); }
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

 private:
  std::atomic_flag& busy_;
};

// Blocks that nobody uses, by the power of two they hold. One list for all threads: a tensor may
// end on another thread than it began.
class Blocks {
 public:
  Block* take(size_t bytes) {
    const size_t size = std::bit_ceil(bytes < kSmallest ? kSmallest : bytes);
    if (size <= kLargest) {
      Kept& kept = kept_[index(size)];
      const SpinLock lock(busy_);
      if (Block* block = kept.first) {
        kept.first = block->next;
        --kept.count;
        return block;
      }
    }
    const size_t rounded =
        size <= kLargest ? size : (bytes + kAlignment - 1) / kAlignment * kAlignment;
    void* memory = std::aligned_alloc(kAlignment, sizeof(Block) + rounded);
    if (memory == nullptr) throw std::bad_alloc();
    return new (memory) Block{nullptr, rounded};
  }

  void give_back(Block* block) {
    if (block->size <= kLargest) {
      Kept& kept = kept_[index(block->size)];
      const SpinLock lock(busy_);
      if ((kept.count + 1) * block->size <= kKeptBytes) {
        block->next = kept.first;
        kept.first = block;
        ++kept.count;
        return;
      }
    }
    std::free(block);
  }

 private:
  struct Kept {
    Block* first = nullptr;
    size_t count = 0;
  };
  static size_t index(size_t size) {
    return static_cast<size_t>(std::countr_zero(size / kSmallest));
  }

  std::atomic_flag busy_;
  std::array<Kept, std::countr_zero(kLargest / kSmallest) + 1> kept_;
};

// Never destroyed: tensors in other static variables may outlive it.
Blocks& blocks() {
  static Blocks& all = *new Blocks;
  return all;
}

void give_back(void* memory) {
  if (memory != nullptr) blocks().give_back(static_cast<Block*>(memory) - 1);
}

class KeepingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) const override {
    void* memory = bytes == 0 ? nullptr : blocks().take(bytes) + 1;
    return {memory, memory, &give_back, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
};

}  // namespace

void keep_tensor_memory() {
// A sanitizer would no longer see that memory is used after its tensor has gone.
#ifndef __SANITIZE_ADDRESS__
  static KeepingAllocator allocator;
  static const bool set = (c10::SetCPUAllocator(&allocator), true);
  static_cast<void>(set);
#endif
}

}  // namespace rl_training
