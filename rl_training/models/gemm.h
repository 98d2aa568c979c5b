#pragma once
#include <cstdint>

namespace rl_training {

// Row-major c[m, n] = op(a) op(b) + beta * c on one thread; `ld*` are row lengths as stored.
void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
          int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc);

}  // namespace rl_training
