#pragma once
#include "rl_training/algorithms/actor_critic.h"
#include "rl_training/algorithms/temperature.h"
#include "rl_training/models/losses.h"

namespace rl_training {

// The keys that SAC and its variants share.
struct SoftLearnerOptions : AlgorithmOptions, TemperatureOptions {
  void visit_options(OptionVisitor& options) override;
  void check() const override { check_temperature(); }
};

// Adds the keys of algorithms that learn from an environment.
struct SoftOptions : SoftLearnerOptions {
  CollectOptions environment;

  CollectOptions* collect() override { return &environment; }
  std::vector<PhaseSpec> phases(int64_t total_timesteps) const override {
    return replay_phases(environment, total_timesteps);
  }
  void visit_options(OptionVisitor& options) override;
};

// The settings in which SAC, REDQ, RLPD, SAC-N and EDAC differ.
struct SoftDesign {
  int64_t critics = 2,
          target_critics = 2;  // critics in the ensemble, and critics drawn for each target
  Reduce actor_reduce = Reduce::minimum;  // how the actor's loss combines the critics
  bool backup_entropy = true;
  double critic_loss_scale = 0.5;  // factor of sum_i mean (Q_i - y)^2
  int64_t actor_interval = 1;      // critic updates per update of actor and temperature
  // Order of an update. If true: temperature, actor, then critics, so that the critics' target uses
  // the updated actor. If false: critics, actor, then temperature.
  bool policy_first = false;
  TemperatureGoal temperature = {};
  double log_std_min = -20.0;
  LayerNorm layer_norm = LayerNorm::none;
  LayerInit init = {};
  std::optional<LayerInit> actor_head, critic_head;  // `init` if unset
};

struct SoftNetworks : GaussianNetworks {
  SoftNetworks(const SoftLearnerOptions& options, const AlgorithmContext& context, Rng rng,
               const SoftDesign& design);
};

// Names of the metrics that SAC and most of its variants report, in order.
std::vector<std::string> soft_metrics();

// `noise` is standard normal, [rows, action_dim]. The target uses the minimum over the target
// critics that `members` lists.
CriticLoss soft_critic_loss(const SoftNetworks& networks, const Batch& batch,
                            const torch::Tensor& noise, const std::vector<int64_t>& members,
                            const torch::Tensor& alpha, const SoftDesign& design);
// `sample` contains one sample of the actor per row.
SoftPolicyLoss soft_policy_loss(const SoftNetworks& networks, const Batch& batch,
                                const GaussianSample& sample, const torch::Tensor& alpha,
                                const SoftDesign& design);
// Computes the sample from `noise`, which is standard normal, [rows, action_dim].
SoftPolicyLoss soft_policy_loss(const SoftNetworks& networks, const Batch& batch,
                                const torch::Tensor& noise, const torch::Tensor& alpha,
                                const SoftDesign& design);

// Soft actor-critic (arXiv:1812.05905) with an ensemble of critics.
class SoftActorCritic : public ActorCritic<SoftLearnerOptions, SoftNetworks> {
 public:
  SoftActorCritic(const SoftLearnerOptions& options, const SoftDesign& design,
                  const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override {
    return networks_.actor.describe_mode(graph, obs);
  }
  torch::Tensor log_density(const torch::Tensor& obs, const torch::Tensor& actions) const override {
    return gaussian_log_prob(networks_.actor.head(obs), actions);
  }
  // Restarts the count of updates, so that the first block of `actor_interval` updates starts with
  // the phase.
  void begin_phase(const PhaseSpec&, int64_t) override { updates_ = 0; }
  void visit_state(StateVisitor& state) override;

 protected:
  // The parts of an update. `loss_of_critics` and `step_policy` draw their own noise.
  CriticLoss loss_of_critics(const Batch& batch);
  void step_critics(const torch::Tensor& loss, double lr_scale);  // critics and target critics
  void step_policy(const Batch& batch, double lr_scale);          // actor and temperature
  const Held<SoftPolicyLoss, TemperatureLoss>& policy_loss() const { return actor_loss_; }

 private:
  SoftDesign design_;
  Temperature temperature_;
  NoiseBuffer next_noise_, noise_;
  std::vector<int64_t> members_;  // target critics of the current update
  Held<SoftPolicyLoss, TemperatureLoss> actor_loss_;
  int64_t updates_ = 0;
};

}  // namespace rl_training
