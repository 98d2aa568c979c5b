#pragma once
#include "rl_training/algorithms/soft_actor_critic.h"

namespace rl_training {

struct RlpdOptions : SoftOptions {
  static constexpr const char* kName = "rlpd";
  int64_t num_critics = 10;
  int64_t num_min_critics = 2;
  bool critic_layer_norm = true;
  bool backup_entropy = true;
  Reduce actor_q = Reduce::mean;
  double offline_batch_ratio = 0.5;
  int64_t offline_pretrain_updates = 0;

  RlpdOptions();
  void visit_options(OptionVisitor& options) override;
  std::vector<PhaseSpec> phases(int64_t total_timesteps) const override;
  void check() const override;
  SoftDesign design(int64_t action_dim) const;
};

// RLPD (arXiv:2302.02948): SAC with prior data in every minibatch, an ensemble of critics with
// LayerNorm, targets that use a random subset of the ensemble, and many updates per environment
// step.
class Rlpd final : public SoftActorCritic {
 public:
  Rlpd(const RlpdOptions& options, const AlgorithmContext& context)
      : SoftActorCritic(options, options.design(context.action_dim()), context) {}
};

// Critic, actor and temperature losses. `loss` is the sum of the critic and actor losses. `noise`
// is standard normal, [2 * rows, action_dim]: the first half is for the next states, the second
// half for the states. `members` are the target critics to use.
JointLoss<CriticLoss, SoftPolicyLoss, TemperatureLoss> rlpd_loss(
    const SoftNetworks& networks, const Batch& batch, const torch::Tensor& noise,
    const std::vector<int64_t>& members, const torch::Tensor& alpha, const RlpdOptions& options);

AlgorithmInfoOf<Rlpd, RlpdOptions> rlpd_info();

}  // namespace rl_training
