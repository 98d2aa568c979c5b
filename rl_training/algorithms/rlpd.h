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
// LayerNorm, random subsets in the target and many updates per step.
class Rlpd final : public SoftActorCritic {
 public:
  Rlpd(const RlpdOptions& options, const AlgorithmContext& context)
      : SoftActorCritic(options, options.design(context.action_dim()), context) {}
};

// Critic, actor and temperature loss; `loss` is that of critics and actor. `noise` is standard
// normal, [2 * rows, action_dim]: for the next states, then for the states. `members` are the drawn
// target critics.
JointLoss<CriticLoss, SoftPolicyLoss, TemperatureLoss> rlpd_loss(
    const SoftNetworks& networks, const Batch& batch, const torch::Tensor& noise,
    const std::vector<int64_t>& members, const torch::Tensor& alpha, const RlpdOptions& options);

AlgorithmInfoOf<Rlpd, RlpdOptions> rlpd_info();

}  // namespace rl_training
