#pragma once
#include <cstdint>

namespace rl_training {

// Row-major c[m, n] = op(a) op(b) on the calling thread, where op transposes a matrix if its
// `transpose_*` is true. `ld*` are row strides. `then` is an operation on the result. `nothing`
// leaves the result unchanged. `add_bias` adds the bias `operand` [n], and `add_bias_relu` also
// applies ReLU. `keep_positive` sets values to zero where the mask `operand` is not positive; the
// mask has the layout of c. `add_old` adds the old c.
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
  const float* operand = nullptr;  // bias or mask, if `then` needs one
  bool far = false;                // c and the mask, if any, are probably not in the cache
};

void multiply(const Product& work);

// Counts the floating-point operations of all calls of multiply(), on all threads, during its
// lifetime. Only one object may exist at a time.
class ProductCount {
 public:
  ProductCount();
  ~ProductCount();
  ProductCount(const ProductCount&) = delete;
  ProductCount& operator=(const ProductCount&) = delete;

  int64_t flops() const;
};

// Number of floats that Kernels::multiply_small needs as temporary memory.
constexpr int64_t kSmallScratch = int64_t{64} * 128;

}  // namespace rl_training
