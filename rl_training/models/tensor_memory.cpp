#include "rl_training/models/tensor_memory.h"

#include <c10/core/CPUAllocator.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <new>
#include <vector>

#include "rl_training/models/compute.h"

namespace rl_training {
namespace {

// Memory is not reused in builds with AddressSanitizer, which could not detect the use of freed
// tensors in reused memory.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kKeep = false;
#else
constexpr bool kKeep = true;
#endif

constexpr size_t kAlignment = 64;
constexpr size_t kSmallest = 64, kLargest = size_t{1} << 20;  // larger blocks are not reused
constexpr size_t kKeptBytes = size_t{4} << 20;                // maximum unused bytes per block size

// The header before each allocated block.
struct alignas(kAlignment) Block {
  Block* next;
  size_t size;
};
static_assert(sizeof(Block) == kAlignment);

// A lock that is held for a few instructions and is rarely contended.
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

// Unused blocks, in one list per size; sizes are powers of two. All threads share the lists,
// because a tensor may be freed on a thread other than the one that created it.
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

// Never destroyed, because tensors in other static variables may be freed later.
Blocks& blocks() {
  static Blocks& all = *new Blocks;
  return all;
}

void give_back(void* memory) {
  if (memory != nullptr) blocks().give_back(static_cast<Block*>(memory) - 1);
}

class KeepingAllocator final : public c10::Allocator {
 public:
#if TORCH_VERSION_MAJOR >= 2
  c10::DataPtr allocate(size_t bytes) override { return take(bytes); }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
#else
  c10::DataPtr allocate(size_t bytes) const override { return take(bytes); }
#endif
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }

 private:
  static c10::DataPtr take(size_t bytes) {
    void* memory = bytes == 0 ? nullptr : blocks().take(bytes) + 1;
    return {memory, memory, &give_back, c10::Device(c10::DeviceType::CPU)};
  }
};

// Tensors of one shape that were returned to callers. `next` is the index of the oldest tensor.
struct Handed {
  explicit Handed(torch::IntArrayRef wanted) : shape(wanted.begin(), wanted.end()) {}

  std::vector<int64_t> shape;
  std::array<torch::Tensor, 16> tensors;
  size_t next = 0;
};

// Whether no other code references the tensor or a view of it.
bool is_free(const torch::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.weak_use_count() == 1 &&
         tensor.storage().use_count() == 1;
}

// Whether the tensor still has its initial form. Its last user may have changed its shape or its
// autograd graph.
bool is_plain(const torch::Tensor& tensor, torch::IntArrayRef shape) {
  return tensor.defined() && tensor.sizes() == shape && tensor.is_contiguous() &&
         tensor.unsafeGetTensorImpl()->autograd_meta() == nullptr;
}

Handed& handed_of(torch::IntArrayRef shape) {
  constexpr size_t kMostShapes = 32;
  thread_local std::vector<Handed> all;
  thread_local size_t oldest = 0;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Handed& handed) { return shape == handed.shape; });
  if (found != all.end()) return *found;
  if (all.size() < kMostShapes) return all.emplace_back(shape);
  return all[oldest++ % kMostShapes] = Handed(shape);
}

}  // namespace

void keep_tensor_memory() {
  if (!kKeep) return;
  static KeepingAllocator allocator;
  static const bool set = (c10::SetCPUAllocator(&allocator), true);
  static_cast<void>(set);
}

torch::Tensor reused_floats(torch::IntArrayRef shape) {
  constexpr int64_t kLargestReused = 4096;
  if (!kKeep || c10::multiply_integers(shape) > kLargestReused) return empty_floats(shape);
  auto& handed = handed_of(shape);
  for (size_t i = 0; i < handed.tensors.size(); ++i) {
    auto& tensor = handed.tensors[handed.next];
    handed.next = (handed.next + 1) % handed.tensors.size();
    if (!is_plain(tensor, shape)) tensor = empty_floats(shape);
    if (is_free(tensor)) return tensor;
  }
  return empty_floats(shape);
}

}  // namespace rl_training
