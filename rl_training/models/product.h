#pragma once
#include <cstdint>

namespace rl_training {

// Row-major c[m, n] = op(a) op(b) on the calling thread; `ld*` are row lengths as stored. Then,
// where asked for: + bias[n]; + bias[n] and what is negative becomes 0; what `keep` (laid out as c)
// has no positive number for becomes 0; or + what c held.
struct Product {
  enum class Then { nothing, add_bias, add_bias_relu, keep_positive, add_old };
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
  bool far = false;                // c and keep are not expected in the cache
};

void multiply(const Product& work);

// So many floats of memory are needed by Kernels::multiply_small.
constexpr int64_t kSmallScratch = int64_t{64} * (128 + 48);

}  // namespace rl_training
