#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "rl_training/algorithms/algorithm.h"

namespace rl_training {

// Updates of one algorithm at its default sizes, or at others.
struct BenchWork {
  explicit BenchWork(const std::string& algo);  // throws Error{config} when there is none

  std::string algo;
  int64_t obs_dim = 17, action_dim = 6;
  std::shared_ptr<AlgorithmOptions> options;
  Space action() const;      // vectors, or as many choices
  std::string name() const;  // "td3_bc update, hidden 256-256, batch 256, obs 17, action 6"
};

// The matrix products of a TD3+BC update with two hidden layers.
struct Td3BcProducts {
  int64_t obs_dim = 17, action_dim = 6, batch = 256, hidden = 256;
  double flops() const;  // floating-point operations of one update, averaged
};

// Something that can be asked to do updates and says how long they took.
class Contender {
 public:
  virtual ~Contender() = default;
  virtual double seconds_for(int64_t updates) = 0;
};

// Our algorithm on sampled batches, as the trainer calls it; one of several processes, or null.
std::unique_ptr<Contender> make_ours(const BenchWork& work, int threads,
                                     ProcessGroup* processes = nullptr);
// The matrix products of the update and nothing else, on every thread at once: `updates` are done
// in all.
std::unique_ptr<Contender> make_products_only(const Td3BcProducts& size, int threads);

// Fused multiply-adds with nothing around them, on `threads` threads: GFLOP/s.
double fma_limit_gflops(int threads);

}  // namespace rl_training
