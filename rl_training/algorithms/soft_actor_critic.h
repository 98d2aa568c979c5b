#pragma once
#include "rl_training/algorithms/algorithm.h"
#include "rl_training/models/adam.h"
#include "rl_training/models/critic_ensemble.h"
#include "rl_training/models/gaussian_actor.h"
#include "rl_training/models/log_scalar.h"
#include "rl_training/models/losses.h"

namespace rl_training {

// The keys that SAC and its relatives share.
struct SoftOptions : AlgorithmOptions {
  std::string alpha = "auto";            // "auto", "auto:<first value>" or a fixed number
  std::optional<double> target_entropy;  // default of the algorithm where not given
  CollectOptions environment;

  CollectOptions* collect() override { return &environment; }
  std::vector<PhaseSpec> phases(int64_t total_timesteps) const override;
  void visit_options(OptionVisitor& options) override;
  void check() const override;

  bool automatic_alpha() const { return alpha.starts_with("auto"); }
  double first_alpha() const;  // Error{config} where `alpha` is none of the three

 protected:
  void visit_temperature_options(OptionVisitor& options);
};

// What makes SAC, REDQ and RLPD three algorithms.
struct SoftDesign {
  int64_t critics = 2, target_critics = 2;  // members, and those drawn for each target
  Reduce actor_reduce = Reduce::minimum;    // of all members, in the actor's loss
  bool backup_entropy = true;
  double critic_loss_scale = 0.5;  // of sum_i mean (Q_i - y)^2
  int64_t actor_interval = 1;      // critic updates for each update of actor and temperature
  double target_entropy = -1;
  bool scaled_temperature_loss =
      false;  // alpha (H - H_target) in place of log alpha (H - H_target)
  LayerNorm layer_norm = LayerNorm::none;
  LayerInit init = {};
};

struct SoftNetworks {
  SoftNetworks(const SoftOptions& options, const SoftDesign& design,
               const AlgorithmContext& context, Rng rng);
  GaussianActor actor;
  CriticEnsemble critics, critics_target;
};

// Names of the metrics of all three, in order.
std::vector<std::string> soft_metrics();

// critic_loss, target_q_mean. `noise` is standard normal [rows, action_dim]; `members` are the
// target critics whose smallest value counts.
Loss soft_critic_loss(const SoftNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                      const std::vector<int64_t>& members, const torch::Tensor& alpha,
                      const SoftOptions& options, const SoftDesign& design);
// actor_loss, entropy.
Loss soft_policy_loss(const SoftNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                      const torch::Tensor& alpha, const SoftDesign& design);
// Gradient of the temperature's loss by log alpha; the loss itself as temperature_loss.
Loss soft_temperature_loss(const torch::Tensor& alpha, const torch::Tensor& entropy,
                           const SoftDesign& design);
// The same for a temperature that may be fixed: then the loss is 0, and there is no gradient.
Loss soft_temperature_loss(const torch::Tensor& alpha, const torch::Tensor& entropy,
                           const SoftOptions& options, const SoftDesign& design);

// All of them on one batch with the networks as they are; `loss` is that of critics and actor.
// `noise` is [2 * rows, action_dim]: for the next states, then for the states.
Loss soft_loss(const SoftNetworks& networks, const Batch& batch, const torch::Tensor& noise,
               const std::vector<int64_t>& members, const torch::Tensor& alpha,
               const SoftOptions& options, const SoftDesign& design);

// Soft actor-critic (arXiv:1812.05905) with an ensemble of critics.
class SoftActorCritic : public Algorithm {
 public:
  SoftActorCritic(const SoftOptions& options, const SoftDesign& design,
                  const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  // Blocks of `actor_interval` updates begin with the first environment step.
  void begin_phase(const PhaseSpec&, int64_t) override { updates_ = 0; }
  void visit_state(StateVisitor& state) override;

 private:
  const std::vector<int64_t>& draw_members();

  SoftOptions options_;
  SoftDesign design_;
  Rng rng_, explore_rng_;
  SoftNetworks networks_;
  Adam actor_optimizer_, critic_optimizer_;
  LogScalar alpha_;
  NoiseBuffer next_noise_, noise_, explore_noise_;
  std::vector<int64_t> members_;
  DelayedMetrics actor_metrics_;
  int64_t updates_ = 0;
};

}  // namespace rl_training
