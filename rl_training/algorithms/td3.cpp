#include "rl_training/algorithms/td3.h"

#include "rl_training/models/losses.h"

namespace rl_training {

void DelayedActorOptions::visit_delayed_options(OptionVisitor& options) {
  options.number("policy_noise", policy_noise, at_least(0),
                 "standard deviation of the target policy's noise, in action units of [-1, 1]");
  options.number("noise_clip", noise_clip, at_least(0), "bound of that noise");
  options.integer("policy_delay", policy_delay, at_least(1),
                  "critic updates per actor and target update");
  options.number("exploration_noise", exploration_noise, at_least(0),
                 "standard deviation of the noise on collected actions");
}

void Td3Options::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  visit_delayed_options(options);
  environment.visit_options(options);
}

DeterministicNetworks::DeterministicNetworks(const DeterministicActor::Options& actor_options,
                                             const CriticEnsemble::Options& critic_options,
                                             const AlgorithmContext& context, Rng& rng)
    : actor(context.obs_dim(), context.action_dim(), actor_options, rng, context.compute),
      actor_target(actor),
      critics(context.obs_dim(), context.action_dim(), critic_options, rng, context.compute),
      critics_target(critics) {}

void DeterministicNetworks::move_targets(double tau) {
  critics_target.network().polyak_from(critics.network(), tau);
  actor_target.network().polyak_from(actor.network(), tau);
}

void DeterministicNetworks::visit_state(StateVisitor& state) {
  state.part("actor", actor);
  state.part("actor_target", actor_target);
  state.part("critics", critics);
  state.part("critics_target", critics_target);
}

Td3Networks::Td3Networks(const AlgorithmOptions& options, const AlgorithmContext& context, Rng rng,
                         int64_t critic_count)
    : DeterministicNetworks({.hidden_sizes = options.hidden_sizes},
                            {.count = critic_count, .hidden_sizes = options.hidden_sizes}, context,
                            rng) {}

// clip(pi'(s') + clip(sigma e, +-c), +-1) with noise e, sigma = policy_noise and c = noise_clip
torch::Tensor smoothed_next_actions(const DeterministicNetworks& networks, const Batch& batch,
                                    const torch::Tensor& noise,
                                    const DelayedActorOptions& options) {
  const torch::NoGradGuard no_grad;
  return add_clipped_noise(networks.actor_target.actions(batch.next_obs()), noise,
                           options.policy_noise, options.noise_clip);
}

// y = r + gamma (1 - d) min_i Q'_i(s', b) with the smoothed next actions b.
// L = sum_i mean (Q_i(s, a) - y)^2
CriticLoss td3_critic_loss(const DeterministicNetworks& networks, const Batch& batch,
                           const torch::Tensor& noise, const DelayedActorOptions& options) {
  torch::Tensor target;
  {
    const torch::NoGradGuard no_grad;
    const auto next_actions = smoothed_next_actions(networks, batch, noise, options);
    const auto next_q = networks.critics_target.values(batch.next_obs(), next_actions);
    target = td_target(batch.rewards(), batch.discount(), minimum(next_q));
  }
  return critic_loss(networks.critics, batch, target);
}

// L = -mean Q_1(s, pi(s))
Td3ActorLoss td3_actor_loss(const DeterministicNetworks& networks, const Batch& batch) {
  const auto q =
      networks.critics.first_value(batch.obs(), networks.actor.actions(batch.obs()), Use::frozen);
  const auto q_mean = mean_of(q);
  return {weighted_sum({{-1.0, q_mean}}), q_mean};
}

Metrics Td3::update(const Batch& batch, double lr_scale) {
  ++updates_;
  const auto critic =
      td3_critic_loss(networks_, batch, noise_.normal(rng_, batch.actions().sizes()), options_);
  minimize(critic.loss, critic_optimizer_, lr_scale);
  if (updates_ % options_.policy_delay == 0) {
    const auto actor = td3_actor_loss(networks_, batch);
    minimize(actor.loss, actor_optimizer_, lr_scale);
    networks_.move_targets(options_.tau);
    actor_loss_.hold(actor);
  }
  return metrics_of(critic, actor_loss_);
}

AlgorithmInfoOf<Td3, Td3Options> td3_info() {
  return algorithm_info<Td3, Td3Options>(
      {.name = Td3Options::kName,
       .title = "TD3: twin delayed deterministic policy gradient",
       .paper = "arXiv:1802.09477",
       .metrics = metric_names_of<CriticLoss, Td3ActorLoss>()});
}

}  // namespace rl_training
