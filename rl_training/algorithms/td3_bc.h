#pragma once
#include "rl_training/algorithms/td3.h"

namespace rl_training {

struct Td3BcOptions : AlgorithmOptions {
  static constexpr const char* kName = "td3_bc";
  double bc_alpha = 2.5;
  double policy_noise = 0.2;
  double noise_clip = 0.5;
  int64_t policy_delay = 2;
  double exploration_noise = 0.1;

  void visit_options(OptionVisitor& options) override;
};

using Td3BcNetworks = Td3Networks;

// critic_loss, target_q_mean. `noise` is standard normal, [rows, action_dim].
Loss td3_bc_critic_loss(const Td3BcNetworks& networks, const Batch& batch,
                        const torch::Tensor& noise, const Td3BcOptions& options);
// actor_loss, bc_loss, bc_lambda, actor_q_mean.
Loss td3_bc_actor_loss(const Td3BcNetworks& networks, const Batch& batch,
                       const Td3BcOptions& options);

// Both losses on one batch with the networks as they are: `loss` is their sum, and the metrics
// are those of both. For looking at a policy from outside; `update` steps between the two.
Loss td3_bc_loss(const Td3BcNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                 const Td3BcOptions& options);

// TD3+BC (arXiv:2106.06860): TD3 whose actor also regresses onto the dataset's actions.
class Td3Bc final : public Algorithm {
 public:
  Td3Bc(const Td3BcOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  void visit_state(StateVisitor& state) override;

 private:
  Td3BcOptions options_;
  Rng rng_, explore_rng_;
  Td3BcNetworks networks_;
  Adam actor_optimizer_, critic_optimizer_;
  NoiseBuffer noise_, explore_noise_;
  DelayedMetrics actor_metrics_;
  int64_t updates_ = 0;
};

AlgorithmInfo td3_bc_info();

}  // namespace rl_training
