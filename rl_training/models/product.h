#pragma once
#include <cstdint>

namespace rl_training {

// Row-major c[m, n] = op(a) op(b) on the calling thread; `ld*` are row lengths as stored. Then,
// where asked for: + bias[n]; + bias[n] and what is negative becomes 0; or what `keep` (laid out as
// c) has no positive number for becomes 0.
struct Product {
  enum class Then { nothing, add_bias, add_bias_relu, keep_positive };
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  int64_t lda = 0;
  const float* b = nullptr;
  int64_t ldb = 0;
  float* c = nullptr;
  int64_t ldc = 0;
  Then then = Then::nothing;
  const float* operand = nullptr;  // bias or keep, where something follows
};

void multiply(const Product& work);

// For Kernels::multiply_small: k is at most the depth, and the scratch memory has so many floats.
constexpr int64_t kSmallDepth = 512, kSmallScratch = 64 * (kSmallDepth + 48);

}  // namespace rl_training
