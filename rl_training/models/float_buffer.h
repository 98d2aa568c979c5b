#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace rl_training {

// Memory that is reused from call to call and only ever grows; it begins at a multiple of 64 bytes.
class FloatBuffer {
 public:
  float* reserve(int64_t count) {
    if (count > capacity_) {
      const auto bytes = static_cast<size_t>((count + 15) / 16 * 64);
      data_.reset(static_cast<float*>(std::aligned_alloc(64, bytes)));
      if (!data_) throw std::bad_alloc();
      capacity_ = count;
    }
    return data_.get();
  }
  float* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(float* pointer) const { std::free(pointer); }
  };
  std::unique_ptr<float, Free> data_;
  int64_t capacity_ = 0;
};

}  // namespace rl_training
