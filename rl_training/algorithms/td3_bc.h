#pragma once
#include "rl_training/algorithms/td3.h"

namespace rl_training {

struct Td3BcOptions : DelayedActorOptions {
  static constexpr const char* kName = "td3_bc";
  double bc_alpha = 2.5;

  void visit_options(OptionVisitor& options) override;
};

struct Td3BcActorLoss {
  torch::Tensor loss, bc_loss, lambda, q_mean;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("actor_loss", loss);
    visit("bc_loss", bc_loss);
    visit("bc_lambda", lambda);
    visit("actor_q_mean", q_mean);
  }
};
Td3BcActorLoss td3_bc_actor_loss(const Td3Networks& networks, const Batch& batch,
                                 const Td3BcOptions& options);

// TD3's critic loss, and the actor loss. `noise` is standard normal, [rows, action_dim].
JointLoss<CriticLoss, Td3BcActorLoss> td3_bc_loss(const Td3Networks& networks, const Batch& batch,
                                                  const torch::Tensor& noise,
                                                  const Td3BcOptions& options);

// TD3+BC (arXiv:2106.06860): TD3 whose actor also regresses onto the dataset's actions.
class Td3Bc final : public DelayedActorCritic<Td3BcOptions, Td3Networks, Td3BcActorLoss> {
 public:
  using DelayedActorCritic::DelayedActorCritic;
  Metrics update(const Batch& batch, double lr_scale) override;
};

AlgorithmInfoOf<Td3Bc, Td3BcOptions> td3_bc_info();

}  // namespace rl_training
