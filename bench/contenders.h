#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

namespace rl_training {

// The work that all contenders do: TD3+BC updates of this size.
struct BenchSize {
  int64_t obs_dim = 17, action_dim = 6, batch = 256, hidden = 256;
  double flops() const;  // floating-point operations of the matrix products of one update, averaged
};

// Something that can be asked to do updates and says how long they took.
class Contender {
 public:
  virtual ~Contender() = default;
  virtual double seconds_for(int64_t updates) = 0;
};

// Our Td3Bc on sampled batches, as the trainer calls it.
std::unique_ptr<Contender> make_ours(const BenchSize& size, int threads);
// The matrix products of the update and nothing else, on every thread at once: `updates` are done
// in all.
std::unique_ptr<Contender> make_products_only(const BenchSize& size, int threads);
// bench/eager_td3_bc.py in a process of its own. Throws Error{io} when it does not start.
std::unique_ptr<Contender> make_eager_torch(const BenchSize& size, const std::string& script,
                                            int torch_threads, int blas_threads);

// Fused multiply-adds with nothing around them, on `threads` threads: GFLOP/s.
double fma_limit_gflops(int threads);

}  // namespace rl_training
