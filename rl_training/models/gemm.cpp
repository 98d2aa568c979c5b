#include "rl_training/models/gemm.h"

#include <dnnl.h>
#include <omp.h>

namespace rl_training {

void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
          int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
  // oneDNN threads by OpenMP, whose thread count is kept by thread: parallelism is ours alone.
  thread_local const bool one_thread = (omp_set_num_threads(1), true);
  static_cast<void>(one_thread);
  dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1.0f, a, lda, b, ldb, beta,
             c, ldc);
}

}  // namespace rl_training
