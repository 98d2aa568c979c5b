#include "rl_training/models/product.h"

#include <omp.h>

#include <atomic>
#include <string_view>

#include "rl_training/models/float_buffer.h"
#include "rl_training/models/kernels.h"
#include "rl_training/models/onednn.h"

namespace rl_training {
namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> counted_flops = 0;

// Limits oneDNN to the instruction set of our own loops. Must be called before oneDNN computes its
// first product.
void agree_on_instructions() {
  const std::string_view chosen = kernels().name;
  if (chosen == "avx2") onednn().set_max_cpu_isa(dnnl_cpu_isa_avx2);
  if (chosen == "baseline") onednn().set_max_cpu_isa(dnnl_cpu_isa_sse41);
}

// Whether our own product is at least as fast as oneDNN's at this size.
bool is_small(const Product& work) {
  if (work.transpose_a && work.m * work.n >= int64_t{256} * 256) return false;
  const bool whole_vectors = work.n % 16 == 0 && (!work.transpose_b || work.k % 16 == 0);
  return work.k <= 512 && (whole_vectors || work.m * work.k <= int64_t{128} * 128);
}

void finish_row(const Product& work, int64_t row) {
  float* c = work.c + row * work.ldc;
  switch (work.then) {
    case Product::Then::nothing:
    case Product::Then::add_old:
      return;
    case Product::Then::add_bias:
      return kernels().add_bias(c, work.operand, 1, work.n);
    case Product::Then::add_bias_relu:
      return kernels().add_bias_relu(c, work.operand, 1, work.n);
    case Product::Then::keep_positive:
      return kernels().relu_backward(c, work.operand + row * work.ldc, work.n);
  }
}

}  // namespace

void multiply(const Product& work) {
  if (counting.load(std::memory_order_relaxed)) {
    counted_flops.fetch_add(2 * work.m * work.n * work.k, std::memory_order_relaxed);
  }
  if (kernels().multiply_small != nullptr && is_small(work)) {
    thread_local FloatBuffer scratch;
    return kernels().multiply_small(work, scratch.reserve(kSmallScratch));
  }
  static const bool agreed = (agree_on_instructions(), true);
  static_cast<void>(agreed);
  // oneDNN uses OpenMP, whose thread count is a per-thread setting. oneDNN must not start threads,
  // because our own pool provides all parallelism.
  const int host_threads = omp_get_max_threads();
  if (host_threads != 1) omp_set_num_threads(1);
  const bool add_old = work.then == Product::Then::add_old;
  onednn().sgemm(work.transpose_a ? 'T' : 'N', work.transpose_b ? 'T' : 'N', work.m, work.n, work.k,
                 1.0f, work.a, work.lda, work.b, work.ldb, add_old ? 1.0f : 0.0f, work.c, work.ldc);
  if (host_threads != 1) omp_set_num_threads(host_threads);
  if (add_old || work.then == Product::Then::nothing) return;
  for (int64_t row = 0; row < work.m; ++row) finish_row(work, row);
}

ProductCount::ProductCount() {
  counted_flops = 0;
  counting = true;
}
ProductCount::~ProductCount() { counting = false; }
int64_t ProductCount::flops() const { return counted_flops; }

}  // namespace rl_training
