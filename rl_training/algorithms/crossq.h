#pragma once
#include "rl_training/algorithms/soft_actor_critic.h"
#include "rl_training/models/batch_renorm.h"

namespace rl_training {

struct CrossqOptions : SoftOptions {
  static constexpr const char* kName = "crossq";
  std::vector<int64_t> critic_hidden_sizes = {2048, 2048};
  int64_t policy_delay = 3;
  double adam_beta1 = 0.5;
  RenormOptions renorm;

  CrossqOptions();
  void visit_options(OptionVisitor& options) override;
  void check() const override;
  AdamOptions actor_adam() const override {
    return {.learning_rate = learning_rate, .beta1 = adam_beta1};
  }
  AdamOptions critic_adam() const override { return actor_adam(); }
};

// An actor and two critics, all with batch renormalisation. There are no target networks.
struct CrossqNetworks {
  CrossqNetworks(const CrossqOptions& options, const AlgorithmContext& context, Rng rng);
  GaussianActor actor;
  CriticEnsemble critics;

  void visit_state(StateVisitor& state);
};

// Updates the critics' running statistics once. `noise` is standard normal, [rows, action_dim].
CriticLoss crossq_critic_loss(const CrossqNetworks& networks, const Batch& batch,
                              const torch::Tensor& noise, const torch::Tensor& alpha);
// Updates the actor's running statistics once. `noise` is standard normal, [rows, action_dim].
SoftPolicyLoss crossq_actor_loss(const CrossqNetworks& networks, const Batch& batch,
                                 const torch::Tensor& noise, const torch::Tensor& alpha);

// CrossQ (arXiv:1902.05605): SAC without target networks, with batch renormalisation and wide
// critics.
class Crossq final : public ActorCritic<CrossqOptions, CrossqNetworks> {
 public:
  Crossq(const CrossqOptions& options, const AlgorithmContext& context);

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
  Held<SoftPolicyLoss, TemperatureLoss> actor_loss_;
  int64_t updates_ = 0;
};

AlgorithmInfoOf<Crossq, CrossqOptions> crossq_info();

}  // namespace rl_training
