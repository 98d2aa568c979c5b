#pragma once
#include <cstdint>

namespace rl_training {

// Row-major c[m, n] = op(a) op(b) on the calling thread; `ld*` are row strides. Epilogue: add
// bias[n]; add bias[n], then ReLU; zero where `keep` (same layout as c) is not positive; or add the
// old c.
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
  const float* operand = nullptr;  // bias or keep, if the epilogue needs one
  bool far = false;                // c and keep are probably not in the cache
};

void multiply(const Product& work);

// Number of floats of memory needed by Kernels::multiply_small.
constexpr int64_t kSmallScratch = int64_t{64} * (128 + 48);

}  // namespace rl_training
