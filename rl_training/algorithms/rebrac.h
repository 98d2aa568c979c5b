#pragma once
#include "rl_training/algorithms/td3.h"

namespace rl_training {

// The defaults are the authors' settings for D4RL's locomotion datasets. `actor_bc_weight` and
// `critic_bc_weight` depend on the dataset; see docs/algorithms/rebrac.md.
struct RebracOptions : DelayedActorOptions {
  static constexpr const char* kName = "rebrac";
  // Treatment of rows without a next action: `none` drops these rows if critic_bc_weight > 0,
  // `zero_penalty` sets their cloning penalty in the critics' target to 0, and `current_action`
  // uses the row's own action in place of the next action.
  enum class NextActionFallback { none, zero_penalty, current_action };
  RebracOptions();

  std::optional<double> actor_learning_rate, critic_learning_rate;
  double actor_bc_weight = 0.01;
  double online_bc_floor = 0.0;
  double critic_bc_weight = 0.01;
  double actor_q_weight = 1.0;
  bool normalize_q = true;
  NextActionFallback next_action_fallback = NextActionFallback::none;

  void visit_options(OptionVisitor& options) override;
  BatchRequest request() const override;
  AdamOptions actor_adam() const override {
    return {.learning_rate = actor_learning_rate.value_or(learning_rate)};
  }
  AdamOptions critic_adam() const override {
    return {.learning_rate = critic_learning_rate.value_or(learning_rate)};
  }
  bool needs_next_actions() const override;
};

struct RebracNetworks : DeterministicNetworks {
  RebracNetworks(const RebracOptions& options, const AlgorithmContext& context, Rng rng);
};

struct RebracCriticLoss {
  torch::Tensor loss, target_q_mean, bc_penalty, next_action_coverage;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("critic_loss", loss);
    visit("target_q_mean", target_q_mean);
    visit("critic_bc_penalty", bc_penalty);
    visit("next_action_coverage", next_action_coverage);
  }
};
// `noise` is standard normal, [rows, action_dim]. The batch must contain next actions. `bc_weight`
// replaces the option critic_bc_weight.
RebracCriticLoss rebrac_critic_loss(const RebracNetworks& networks, const Batch& batch,
                                    const torch::Tensor& noise, double bc_weight,
                                    const RebracOptions& options);

struct RebracActorLoss {
  torch::Tensor loss, bc_loss, lambda, q_mean;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("actor_loss", loss);
    visit("actor_bc_loss", bc_loss);
    visit("bc_lambda", lambda);
    visit("actor_q_mean", q_mean);
  }
};
// `bc_weight` replaces the option actor_bc_weight.
RebracActorLoss rebrac_actor_loss(const RebracNetworks& networks, const Batch& batch,
                                  double bc_weight, const RebracOptions& options);

// Critic and actor loss with the weights from `options`.
JointLoss<RebracCriticLoss, RebracActorLoss> rebrac_loss(const RebracNetworks& networks,
                                                         const Batch& batch,
                                                         const torch::Tensor& noise,
                                                         const RebracOptions& options);

// ReBRAC (arXiv:2305.09836): TD3+BC with an additional cloning penalty in the critics' target, and
// with deeper critics that use LayerNorm.
class Rebrac final : public DelayedActorCritic<RebracOptions, RebracNetworks, RebracActorLoss> {
 public:
  using DelayedActorCritic::DelayedActorCritic;

  Metrics update(const Batch& batch, double lr_scale) override;
  // As in the authors' fine-tuning, the online phase disables the critics' penalty and decreases
  // the actor's cloning weight linearly.
  void begin_phase(const PhaseSpec& phase, int64_t planned_updates) override;
  void visit_state(StateVisitor& state) override;

 private:
  double actor_bc_weight() const;
  double critic_bc_weight() const { return online_ ? 0.0 : options_.critic_bc_weight; }

  // Whether the online phase has started, the update at which it started, and its planned number of
  // updates.
  bool online_ = false;
  int64_t online_start_ = 0, online_length_ = 0;
};

AlgorithmInfoOf<Rebrac, RebracOptions> rebrac_info();

}  // namespace rl_training
