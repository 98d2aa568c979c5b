#include "rl_training/algorithms/rebrac.h"

#include "rl_training/models/losses.h"

namespace rl_training {
namespace {

// Squared Euclidean distance of each pair of rows: [rows, columns] -> [rows].
torch::Tensor squared_distance(const torch::Tensor& x, const torch::Tensor& y) {
  return (x - y).square().sum(1);
}

}  // namespace

RebracOptions::RebracOptions() {
  hidden_sizes = {256, 256, 256};
  batch_size = 1024;
  learning_rate = 1e-3;
  exploration_noise = 0.03;
}

void RebracOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.number("actor_learning_rate", actor_learning_rate, above(0),
                 "Adam step size of the actor; default: learning_rate");
  options.number("critic_learning_rate", critic_learning_rate, above(0),
                 "Adam step size of the critics; default: learning_rate");
  options.number("actor_bc_weight", actor_bc_weight, above(0),
                 "weight of the cloning term in the actor's loss");
  options.number("critic_bc_weight", critic_bc_weight, at_least(0),
                 "weight of the cloning penalty in the critics' target");
  options.number("online_bc_floor", online_bc_floor, between(0, 1),
                 "fraction of actor_bc_weight that remains at the end of online training");
  options.number("actor_q_weight", actor_q_weight, above(0), "weight of Q in the actor's loss");
  options.flag("normalize_q", normalize_q,
               "divide Q in the actor's loss by its mean absolute value");
  visit_delayed_options(options);
  options.choice("next_action_fallback", next_action_fallback,
                 {{"none", NextActionFallback::none},
                  {"zero_penalty", NextActionFallback::zero_penalty},
                  {"current_action", NextActionFallback::current_action}},
                 "rows without a next action are dropped, used without penalty, or use their own "
                 "action instead");
}

BatchRequest RebracOptions::request() const {
  auto request = AlgorithmOptions::request();
  for (const auto column :
       {BatchColumn::terminated, BatchColumn::next_action, BatchColumn::next_action_valid}) {
    request.columns.push_back(column);
  }
  return request;
}

bool RebracOptions::needs_next_actions() const {
  return critic_bc_weight > 0 && next_action_fallback == NextActionFallback::none;
}

RebracNetworks::RebracNetworks(const RebracOptions& options, const AlgorithmContext& context,
                               Rng rng)
    : DeterministicNetworks({.hidden_sizes = options.hidden_sizes,
                             .hidden_init = fan_in_layer(),
                             .output_init = narrow_layer(1e-3)},
                            {.hidden_sizes = options.hidden_sizes,
                             .layer_norm = LayerNorm::after_activation,
                             .layer_norm_eps = 1e-6,
                             .hidden_init = fan_in_layer(),
                             .output_init = narrow_layer(3e-3)},
                            context, rng) {}

// b = clip(pi'(s') + clip(sigma e, +-c), +-1), as in smoothed_next_actions
// y = r + gamma (1 - d) (min_i Q'_i(s', b) - bc_weight |b - a'|^2) with the next dataset action a'.
// L = sum_i mean (Q_i(s, a) - y)^2
RebracCriticLoss rebrac_critic_loss(const RebracNetworks& networks, const Batch& batch,
                                    const torch::Tensor& noise, double bc_weight,
                                    const RebracOptions& options) {
  torch::Tensor target, penalty, known;
  {
    const torch::NoGradGuard no_grad;
    const auto next_policy = smoothed_next_actions(networks, batch, noise, options);
    const auto next_q = networks.critics_target.values(batch.next_obs(), next_policy);
    known = torch::maximum(batch.next_action_valid(), batch.terminated());
    if (options.next_action_fallback == RebracOptions::NextActionFallback::current_action) {
      const auto valid = batch.next_action_valid().unsqueeze(1);
      const auto reference = torch::lerp(batch.actions(), batch.next_actions(), valid);
      penalty = squared_distance(next_policy, reference);
    } else {
      penalty = squared_distance(next_policy, batch.next_actions()).mul_(batch.next_action_valid());
    }
    const auto next_value = minimum(next_q).sub_(penalty, bc_weight);
    target = td_target(batch.rewards(), batch.discount(), next_value);
  }
  const auto critic = critic_loss(networks.critics, batch, target);
  return {critic.loss, critic.target_q_mean, penalty.mean(), known.mean()};
}

// q = min_i Q_i(s, pi(s))
// lambda = 1 / mean |q|, without gradient, if normalize_q; otherwise lambda = 1.
// L = bc_weight mean |pi(s) - a|^2 - actor_q_weight lambda mean q
RebracActorLoss rebrac_actor_loss(const RebracNetworks& networks, const Batch& batch,
                                  double bc_weight, const RebracOptions& options) {
  const auto actions = networks.actor.actions(batch.obs());
  const auto q = minimum(networks.critics.values(batch.obs(), actions, Use::frozen));
  const auto q_mean = q.mean();
  const auto lambda = options.normalize_q ? 1.0 / q.detach().abs().mean().clamp_min(1e-6)
                                          : torch::ones({}, q.options().requires_grad(false));
  const auto bc_loss = squared_distance(actions, batch.actions()).mean();
  return {bc_weight * bc_loss - options.actor_q_weight * lambda * q_mean, bc_loss, lambda, q_mean};
}

JointLoss<RebracCriticLoss, RebracActorLoss> rebrac_loss(const RebracNetworks& networks,
                                                         const Batch& batch,
                                                         const torch::Tensor& noise,
                                                         const RebracOptions& options) {
  return joint_loss(rebrac_critic_loss(networks, batch, noise, options.critic_bc_weight, options),
                    rebrac_actor_loss(networks, batch, options.actor_bc_weight, options));
}

Metrics Rebrac::update(const Batch& batch, double lr_scale) {
  const auto critic = rebrac_critic_loss(
      networks_, batch, noise_.normal(rng_, batch.actions().sizes()), critic_bc_weight(), options_);
  minimize(critic.loss, critic_optimizer_, lr_scale);

  if (updates_ % options_.policy_delay == 0) {  // the first update includes the actor
    const auto actor = rebrac_actor_loss(networks_, batch, actor_bc_weight(), options_);
    minimize(actor.loss, actor_optimizer_, lr_scale);
    networks_.move_targets(options_.tau);
    actor_loss_.hold(actor);
  }
  ++updates_;
  return metrics_of(critic, actor_loss_);
}

void Rebrac::begin_phase(const PhaseSpec& phase, int64_t planned_updates) {
  if (!phase.collects()) return;
  online_ = true;
  online_start_ = updates_;
  online_length_ = planned_updates;
}

double Rebrac::actor_bc_weight() const {
  if (!online_) return options_.actor_bc_weight;
  const auto left = static_cast<double>(online_start_ + online_length_ - updates_);
  return options_.actor_bc_weight *
         std::max(options_.online_bc_floor, left / static_cast<double>(online_length_));
}

void Rebrac::visit_state(StateVisitor& state) {
  DelayedActorCritic::visit_state(state);
  state.scalar("online", online_);
  state.scalar("online_start", online_start_);
  state.scalar("online_length", online_length_);
}

AlgorithmInfoOf<Rebrac, RebracOptions> rebrac_info() {
  return algorithm_info<Rebrac, RebracOptions>(
      {.name = RebracOptions::kName,
       .title = "ReBRAC: TD3+BC with cloning penalties in actor and critics",
       .paper = "arXiv:2305.09836",
       .metrics = metric_names_of<RebracCriticLoss, RebracActorLoss>()});
}

}  // namespace rl_training
