#pragma once
#include "rl_training/algorithms/algorithm.h"
#include "rl_training/models/deterministic_actor.h"
#include "rl_training/models/gaussian_actor.h"

namespace rl_training {

// Interpolates linearly from `start` at step 0 to `end` at `steps`, then stays at `end`.
inline double linear_change(double start, double end, int64_t steps, int64_t step) {
  if (step >= steps) return end;
  return start + (end - start) * (static_cast<double>(step) / static_cast<double>(steps));
}

// Computes a policy's actions in [-1, 1], without gradients. Noise comes from the random stream
// "explore/policy". `act` draws noise only for ActMode::explore.
class Explorer {
 public:
  explicit Explorer(uint64_t seed) : rng_(seed, "explore/policy") {}

  // GaussianActor::mode if greedy, or a sample if exploring.
  torch::Tensor act(const GaussianActor& actor, const torch::Tensor& obs, ActMode mode);
  // The actor's action, with noise if exploring.
  torch::Tensor act(const DeterministicActor& actor, const torch::Tensor& obs, ActMode mode,
                    double noise);
  // clip(actions + noise * N(0, 1), +-1)
  torch::Tensor around(const torch::Tensor& actions, double noise);

  // The random stream, for policies that draw their own noise.
  Rng& rng() { return rng_; }
  // Adds the random stream to the owner's state under the name "explore_rng".
  void visit_state(StateVisitor& state) { state.part("explore_rng", rng_); }

 private:
  Rng rng_;
  NoiseBuffer buffer_;
};

}  // namespace rl_training
