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

// The critics predict quantiles: [critics, rows, quantiles].
struct TqcNetworks : GaussianNetworks {
  TqcNetworks(const TqcOptions& options, const AlgorithmContext& context, Rng rng);
};

// `noise` is standard normal, [rows, action_dim].
CriticLoss tqc_critic_loss(const TqcNetworks& networks, const Batch& batch,
                           const torch::Tensor& noise, const torch::Tensor& alpha,
                           const TqcOptions& options);
// `noise` is standard normal, [rows, action_dim].
SoftPolicyLoss tqc_actor_loss(const TqcNetworks& networks, const Batch& batch,
                              const torch::Tensor& noise, const torch::Tensor& alpha);

// TQC (arXiv:2005.04269): SAC with distributional critics. The target drops their highest
// quantiles.
class Tqc final : public ActorCritic<TqcOptions, TqcNetworks> {
 public:
  Tqc(const TqcOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override {
    return networks_.actor.describe_mode(graph, obs);
  }
  torch::Tensor log_density(const torch::Tensor& obs, const torch::Tensor& actions) const override {
    return gaussian_log_prob(networks_.actor.head(obs), actions);
  }
  void visit_state(StateVisitor& state) override;

 private:
  Temperature temperature_;
  NoiseBuffer next_noise_, noise_;
};

AlgorithmInfoOf<Tqc, TqcOptions> tqc_info();

}  // namespace rl_training
