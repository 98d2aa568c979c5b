#pragma once
#include "rl_training/algorithms/actor_critic.h"
#include "rl_training/algorithms/temperature.h"
#include "rl_training/models/losses.h"

namespace rl_training {

// The keys that SAC and its relatives share.
struct SoftOptions : AlgorithmOptions, TemperatureOptions {
  CollectOptions environment;

  CollectOptions* collect() override { return &environment; }
  std::vector<PhaseSpec> phases(int64_t total_timesteps) const override {
    return replay_phases(environment, total_timesteps);
  }
  void visit_options(OptionVisitor& options) override;
  void check() const override { check_temperature(); }
};

// What makes SAC, REDQ and RLPD three algorithms.
struct SoftDesign {
  int64_t critics = 2, target_critics = 2;  // members, and those drawn for each target
  Reduce actor_reduce = Reduce::minimum;    // of all members, in the actor's loss
  bool backup_entropy = true;
  double critic_loss_scale = 0.5;  // of sum_i mean (Q_i - y)^2
  int64_t actor_interval = 1;      // critic updates for each update of actor and temperature
  TemperatureGoal temperature = {};
  LayerNorm layer_norm = LayerNorm::none;
  LayerInit init = {};
};

struct SoftNetworks : GaussianNetworks {
  SoftNetworks(const SoftOptions& options, const AlgorithmContext& context, Rng rng,
               const SoftDesign& design);
};

// Names of the metrics of all three, in order.
std::vector<std::string> soft_metrics();

// `noise` is standard normal [rows, action_dim]; `members` are the target critics whose smallest
// value counts.
CriticLoss soft_critic_loss(const SoftNetworks& networks, const Batch& batch,
                            const torch::Tensor& noise, const std::vector<int64_t>& members,
                            const torch::Tensor& alpha, const SoftDesign& design);
// `noise` as above.
SoftPolicyLoss soft_policy_loss(const SoftNetworks& networks, const Batch& batch,
                                const torch::Tensor& noise, const torch::Tensor& alpha,
                                const SoftDesign& design);

// Soft actor-critic (arXiv:1812.05905) with an ensemble of critics.
class SoftActorCritic : public ActorCritic<SoftOptions, SoftNetworks> {
 public:
  SoftActorCritic(const SoftOptions& options, const SoftDesign& design,
                  const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override {
    return networks_.actor.describe_mode(graph, obs);
  }
  torch::Tensor log_density(const torch::Tensor& obs, const torch::Tensor& actions) const override {
    return gaussian_log_prob(networks_.actor.head(obs), actions);
  }
  // Blocks of `actor_interval` updates begin with the first environment step.
  void begin_phase(const PhaseSpec&, int64_t) override { updates_ = 0; }
  void visit_state(StateVisitor& state) override;

 private:
  const std::vector<int64_t>& draw_members();

  SoftDesign design_;
  Temperature temperature_;
  NoiseBuffer next_noise_, noise_;
  std::vector<int64_t> members_;
  Held<SoftPolicyLoss, TemperatureLoss> actor_loss_;
  int64_t updates_ = 0;
};

}  // namespace rl_training
