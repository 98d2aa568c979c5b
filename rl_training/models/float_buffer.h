#pragma once
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace rl_training {

// A buffer of floats, aligned to 64 bytes. The memory never shrinks, so that later calls can reuse
// it. If `reserve` has to grow the buffer, the old values are lost. Large buffers request huge
// pages, which reduce TLB misses.
class FloatBuffer {
 public:
  float* reserve(int64_t count) {
    if (count > capacity_) {
      const auto wanted = static_cast<size_t>(count) * sizeof(float);
      const size_t alignment = wanted < kLargePage ? 64 : kLargePage;
      const size_t bytes = (wanted + alignment - 1) / alignment * alignment;
      data_.reset(static_cast<float*>(std::aligned_alloc(alignment, bytes)));
      if (!data_) throw std::bad_alloc();
      if (wanted >= kLargePage) madvise(data_.get(), bytes, MADV_HUGEPAGE);
      capacity_ = count;
    }
    return data_.get();
  }
  float* data() const { return data_.get(); }

 private:
  static constexpr size_t kLargePage = size_t{2} << 20;
  struct Free {
    void operator()(float* pointer) const { std::free(pointer); }
  };
  std::unique_ptr<float, Free> data_;
  int64_t capacity_ = 0;
};

}  // namespace rl_training
