#pragma once
#include "rl_training/algorithms/td3.h"
#include "rl_training/models/adam.h"
#include "rl_training/models/critic_ensemble.h"
#include "rl_training/models/deterministic_actor.h"

namespace rl_training {

// Defaults are those of the authors for D4RL's gym-mujoco sets; the two weights differ from
// dataset to dataset, see docs/algorithms/rebrac.md.
struct RebracOptions : AlgorithmOptions {
  static constexpr const char* kName = "rebrac";
  RebracOptions();

  std::optional<double> actor_learning_rate, critic_learning_rate;
  double actor_bc_weight = 0.01;
  double exploration_noise = 0.03;
  double online_bc_floor = 0.0;
  double critic_bc_weight = 0.01;
  double actor_q_weight = 1.0;
  bool normalize_q = true;
  double policy_noise = 0.2;
  double noise_clip = 0.5;
  int64_t policy_delay = 2;
  std::string next_action_fallback = "none";

  void visit_options(OptionVisitor& options) override;
  BatchRequest request() const override;
  bool needs_next_actions() const override;
};

struct RebracNetworks {
  RebracNetworks(const RebracOptions& options, const AlgorithmContext& context, Rng rng);
  DeterministicActor actor, actor_target;
  CriticEnsemble critics, critics_target;
};

// critic_loss, target_q_mean, critic_bc_penalty, next_action_coverage. `noise` is standard normal,
// [rows, action_dim]; the batch holds next actions.
Loss rebrac_critic_loss(const RebracNetworks& networks, const Batch& batch,
                        const torch::Tensor& noise, const RebracOptions& options);
// actor_loss, actor_bc_loss, bc_lambda, actor_q_mean.
Loss rebrac_actor_loss(const RebracNetworks& networks, const Batch& batch,
                       const RebracOptions& options);

// Both losses on one batch with the networks as they are: `loss` is their sum, and the metrics
// are those of both. For looking at a policy from outside; `update` steps between the two.
Loss rebrac_loss(const RebracNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                 const RebracOptions& options);

// ReBRAC (arXiv:2305.09836): TD3+BC with a cloning penalty in the critics' target too, and
// LayerNorm in deeper critics.
class Rebrac final : public Algorithm {
 public:
  Rebrac(const RebracOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  void begin_phase(const PhaseSpec& phase, int64_t planned_updates) override;
  void visit_state(StateVisitor& state) override;

 private:
  double online_decay() const;

  RebracOptions options_;
  Rng rng_, explore_rng_;
  RebracNetworks networks_;
  Adam actor_optimizer_, critic_optimizer_;
  NoiseBuffer noise_, explore_noise_;
  // Online, if it is: the update it began with and how many were planned.
  bool online_ = false;
  int64_t online_start_ = 0, online_length_ = 0;
  DelayedMetrics actor_metrics_;
  int64_t updates_ = 0;
};

AlgorithmInfo rebrac_info();

}  // namespace rl_training
