#pragma once
#include "rl_training/algorithms/soft_actor_critic.h"

namespace rl_training {

struct TqcOptions : SoftOptions {
  static constexpr const char* kName = "tqc";
  int64_t num_critics = 5;
  int64_t num_quantiles = 25;
  int64_t drop_per_critic = 2;

  void visit_options(OptionVisitor& options) override;
  void check() const override;
};

struct TqcNetworks {
  TqcNetworks(const TqcOptions& options, const AlgorithmContext& context, Rng rng);
  GaussianActor actor;
  Mlp critics, critics_target;  // [critics, rows, quantiles]
};

// critic_loss, target_q_mean. `noise` is standard normal, [rows, action_dim].
Loss tqc_critic_loss(const TqcNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                     const torch::Tensor& alpha, const TqcOptions& options);
// actor_loss, entropy.
Loss tqc_actor_loss(const TqcNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                    const torch::Tensor& alpha);
// Both on one batch with the networks as they are; `noise` is [2 * rows, action_dim].
Loss tqc_loss(const TqcNetworks& networks, const Batch& batch, const torch::Tensor& noise,
              const torch::Tensor& alpha, const TqcOptions& options);

// TQC (arXiv:2005.04269): SAC with distributional critics whose highest quantiles are left out of
// the target.
class Tqc final : public Algorithm {
 public:
  Tqc(const TqcOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  void visit_state(StateVisitor& state) override;

 private:
  TqcOptions options_;
  SoftDesign design_;  // of the temperature
  Rng rng_, explore_rng_;
  TqcNetworks networks_;
  Adam actor_optimizer_, critic_optimizer_;
  LogScalar alpha_;
  NoiseBuffer next_noise_, noise_, explore_noise_;
};

AlgorithmInfo tqc_info();

}  // namespace rl_training
