#include "rl_training/algorithms/soft_actor_critic.h"

namespace rl_training {

void SoftLearnerOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  visit_temperature_options(options);
}

void SoftOptions::visit_options(OptionVisitor& options) {
  SoftLearnerOptions::visit_options(options);
  environment.visit_options(options);
}

SoftNetworks::SoftNetworks(const SoftLearnerOptions& options, const AlgorithmContext& context,
                           Rng rng, const SoftDesign& design)
    : GaussianNetworks({.hidden_sizes = options.hidden_sizes,
                        .log_std_min = design.log_std_min,
                        .hidden_init = design.init,
                        .output_init = design.actor_head.value_or(design.init)},
                       {.count = design.critics,
                        .hidden_sizes = options.hidden_sizes,
                        .layer_norm = design.layer_norm,
                        .layer_norm_eps = 1e-6,
                        .hidden_init = design.init,
                        .output_init = design.critic_head.value_or(design.init)},
                       context, rng) {}

std::vector<std::string> soft_metrics() {
  return metric_names_of<CriticLoss, SoftPolicyLoss, TemperatureLoss>();
}

// y = r + gamma (1 - d) (min_{i in M} Q'_i(s', a') - alpha log pi(a'|s'))
// L = critic_loss_scale sum_i mean (Q_i(s, a) - y)^2
// with a' ~ pi(s') and M = `members`; without backup_entropy, y has no alpha term
CriticLoss soft_critic_loss(const SoftNetworks& networks, const Batch& batch,
                            const torch::Tensor& noise, const std::vector<int64_t>& members,
                            const torch::Tensor& alpha, const SoftDesign& design) {
  SoftTarget target;
  {
    const torch::NoGradGuard no_grad;
    const auto next = networks.actor.sample(batch.next_obs(), noise);
    target = soft_td_target(
        batch.rewards(), batch.discount(),
        member_values(networks.critics_target, batch.next_obs(), next.actions, members),
        design.backup_entropy ? next.log_prob : torch::Tensor(), alpha);
  }
  return {squared_error(networks.critics.values(batch.obs(), batch.actions()), target.values,
                        design.critic_loss_scale),
          target.mean};
}

// L = mean (alpha log pi(b|s) - Q(s, b))
// where b ~ pi(s) is reparameterised. Q is the minimum or the mean of the critics, as selected by
// actor_reduce.
SoftPolicyLoss soft_policy_loss(const SoftNetworks& networks, const Batch& batch,
                                const GaussianSample& sample, const torch::Tensor& alpha,
                                const SoftDesign& design) {
  const auto q = networks.critics.values(batch.obs(), sample.actions, Use::frozen);
  const auto [loss, entropy] = soft_actor_loss(sample.log_prob, q, alpha, design.actor_reduce);
  return {loss, entropy};
}

SoftPolicyLoss soft_policy_loss(const SoftNetworks& networks, const Batch& batch,
                                const torch::Tensor& noise, const torch::Tensor& alpha,
                                const SoftDesign& design) {
  return soft_policy_loss(networks, batch, networks.actor.sample(batch.obs(), noise), alpha,
                          design);
}

SoftActorCritic::SoftActorCritic(const SoftLearnerOptions& options, const SoftDesign& design,
                                 const AlgorithmContext& context)
    : ActorCritic(options, context, design),
      design_(design),
      temperature_(options, design.temperature, options.learning_rate, context.compute) {}

CriticLoss SoftActorCritic::loss_of_critics(const Batch& batch) {
  draw_members(rng_, design_.critics, design_.target_critics, members_);
  return soft_critic_loss(networks_, batch, next_noise_.normal(rng_, batch.actions().sizes()),
                          members_, temperature_.value(), design_);
}

void SoftActorCritic::step_critics(const torch::Tensor& loss, double lr_scale) {
  minimize(loss, critic_optimizer_, lr_scale);
  networks_.move_target(options_.tau);
}

void SoftActorCritic::step_policy(const Batch& batch, double lr_scale) {
  const auto sample =
      networks_.actor.sample(batch.obs(), noise_.normal(rng_, batch.actions().sizes()));
  TemperatureLoss temperature;
  if (design_.policy_first) {
    temperature = temperature_.update(-without_graph(sample.log_prob).mean());
  }
  const auto actor = soft_policy_loss(networks_, batch, sample, temperature_.value(), design_);
  minimize(actor.loss, actor_optimizer_, lr_scale);
  if (!design_.policy_first) temperature = temperature_.update(actor.entropy);
  actor_loss_.hold(actor, temperature);
}

Metrics SoftActorCritic::update(const Batch& batch, double lr_scale) {
  const bool with_policy = ++updates_ % design_.actor_interval == 0;
  if (with_policy && design_.policy_first) step_policy(batch, lr_scale);
  const auto critic = loss_of_critics(batch);
  step_critics(critic.loss, lr_scale);
  if (with_policy && !design_.policy_first) step_policy(batch, lr_scale);
  return metrics_of(critic, actor_loss_);
}

torch::Tensor SoftActorCritic::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  return explorer_.act(networks_.actor, obs, mode);
}

void SoftActorCritic::visit_state(StateVisitor& state) {
  ActorCritic::visit_state(state);
  state.part("alpha", temperature_);
  state.part("actor_metrics", actor_loss_);
  state.scalar("updates", updates_);
}

}  // namespace rl_training
