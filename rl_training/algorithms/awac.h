#pragma once
#include "rl_training/algorithms/algorithm.h"
#include "rl_training/algorithms/log_std_bounds.h"
#include "rl_training/models/adam.h"
#include "rl_training/models/critic_ensemble.h"
#include "rl_training/models/gaussian_actor.h"

namespace rl_training {

struct AwacOptions : AlgorithmOptions {
  static constexpr const char* kName = "awac";
  AwacOptions() { hidden_sizes = {256, 256, 256}; }
  double awac_lambda = 1.0 / 3.0;
  double max_weight = 100.0;
  std::string weight_normalisation = "clip";
  LogStdBounds log_std = {-20.0, 2.0};

  void visit_options(OptionVisitor& options) override;
  void check() const override { log_std.check(); }
};

struct AwacNetworks {
  AwacNetworks(const AwacOptions& options, const AlgorithmContext& context, Rng rng);
  GaussianActor actor;
  CriticEnsemble critics, critics_target;
};

// Weights of the rows by their advantages, [rows] -> [rows], without gradient.
torch::Tensor awac_weights(const torch::Tensor& advantage, const AwacOptions& options);

// critic_loss, target_q_mean. `noise` is standard normal, [rows, action_dim].
Loss awac_critic_loss(const AwacNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                      const AwacOptions& options);
// actor_loss, advantage_mean, advantage_weight_mean. `noise` as above.
Loss awac_actor_loss(const AwacNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                     const AwacOptions& options);

// Both losses on one batch with the networks as they are, each with its own noise: `loss` is their
// sum. `update` steps between the two.
Loss awac_loss(const AwacNetworks& networks, const Batch& batch, const torch::Tensor& critic_noise,
               const torch::Tensor& actor_noise, const AwacOptions& options);

// AWAC (arXiv:2006.09359): an actor-critic whose actor clones actions weighted by their advantage.
class Awac final : public Algorithm {
 public:
  Awac(const AwacOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  void visit_state(StateVisitor& state) override;

 private:
  AwacOptions options_;
  Rng rng_, explore_rng_;
  AwacNetworks networks_;
  Adam actor_optimizer_, critic_optimizer_;
  NoiseBuffer noise_;
};

AlgorithmInfo awac_info();

}  // namespace rl_training
