#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "rl_training/algorithms/algorithm.h"

namespace rl_training {

// An algorithm whose updates are measured. `options` contains the algorithm's defaults, which the
// caller may change.
struct BenchWork {
  explicit BenchWork(const std::string& algo);  // throws Error{config} for an unknown name

  std::string algo;
  int64_t obs_dim = 17, action_dim = 6;
  std::shared_ptr<AlgorithmOptions> options;
  // The spaces depend on the algorithm.
  Space obs() const;         // obs_dim dimensions, or three stacked frames of 84 x 84 pixels
  Space action() const;      // a box with action_dim dimensions, or action_dim discrete actions
  std::string name() const;  // "td3_bc update, hidden 256-256, batch 256, obs 17, action 6"
};

// The matrix products of a TD3+BC update with two hidden layers.
struct Td3BcProducts {
  int64_t obs_dim = 17, action_dim = 6, batch = 256, hidden = 256;
};

// An implementation whose speed is measured.
class Contender {
 public:
  virtual ~Contender() = default;
  virtual double seconds_for(int64_t updates) = 0;  // performs the updates; returns their duration
  // Floating-point operations in the matrix products of an update, averaged over the updates so
  // far, or 0 if they are not counted.
  virtual double flops_per_update() const { return 0; }
  // Sampling time as a share of all measured time so far, or 0 if it is not measured.
  virtual double sampling_share() const { return 0; }
};

// Updates an algorithm of rl_training on sampled batches in the same way as the trainer. This
// includes writing priorities back to the sampler. Counts the products that multiply() computes,
// but not those of LibTorch. An update of PPO uses one minibatch of a rollout of 2048 rows. An
// update of TRPO is a whole iteration over that rollout: the policy step and all passes of the
// value function. `processes` is null if there is only one process.
std::unique_ptr<Contender> make_ours(const BenchWork& work, int threads,
                                     ProcessGroup* processes = nullptr);
// Computes only the matrix products of an update. The threads work on different updates at the same
// time. The argument of seconds_for is the total number of updates of all threads.
std::unique_ptr<Contender> make_products_only(const Td3BcProducts& size, int threads);

// Peak rate of fused multiply-adds on `threads` threads, in GFLOP/s.
double fma_limit_gflops(int threads);

}  // namespace rl_training
