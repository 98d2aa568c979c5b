#include "rl_training/algorithms/soft_actor_critic.h"

#include <numeric>

namespace rl_training {

void SoftOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  visit_temperature_options(options);
  environment.visit_options(options);
}

SoftNetworks::SoftNetworks(const SoftOptions& options, const AlgorithmContext& context, Rng rng,
                           const SoftDesign& design)
    : GaussianNetworks({.hidden_sizes = options.hidden_sizes,
                        .hidden_init = design.init,
                        .output_init = design.init},
                       {.count = design.critics,
                        .hidden_sizes = options.hidden_sizes,
                        .layer_norm = design.layer_norm,
                        .layer_norm_eps = 1e-6,
                        .hidden_init = design.init,
                        .output_init = design.init},
                       context, rng) {}

std::vector<std::string> soft_metrics() {
  return metric_names_of<CriticLoss, SoftPolicyLoss, TemperatureLoss>();
}

namespace {

// Values of the chosen members, [chosen, rows]; in one pass where all are chosen.
torch::Tensor target_values(const CriticEnsemble& critics, const torch::Tensor& obs,
                            const torch::Tensor& actions, const std::vector<int64_t>& members) {
  if (static_cast<int64_t>(members.size()) == critics.network().members()) {
    return critics.values(obs, actions);
  }
  std::vector<torch::Tensor> values;
  for (const int64_t member : members) {
    values.push_back(critics.network().forward_member(member, obs, actions).squeeze(1));
  }
  return torch::stack(values);
}

}  // namespace

// a' ~ pi(s');  y = r + gamma (1 - d) (min_{i in M} Q'_i(s', a') - alpha log pi(a'|s'));
// L = c sum_i mean (Q_i(s, a) - y)^2
CriticLoss soft_critic_loss(const SoftNetworks& networks, const Batch& batch,
                            const torch::Tensor& noise, const std::vector<int64_t>& members,
                            const torch::Tensor& alpha, const SoftDesign& design) {
  SoftTarget target;
  {
    const torch::NoGradGuard no_grad;
    const auto next = networks.actor.sample(batch.next_obs(), noise);
    target = soft_td_target(
        batch.rewards(), batch.discount(),
        target_values(networks.critics_target, batch.next_obs(), next.actions, members),
        design.backup_entropy ? next.log_prob : torch::Tensor(), alpha);
  }
  return {squared_error(networks.critics.values(batch.obs(), batch.actions()), target.values,
                        design.critic_loss_scale),
          target.mean};
}

// a ~ pi(s), reparameterised;  L = mean (alpha log pi(a|s) - min or mean_i Q_i(s, a))
SoftPolicyLoss soft_policy_loss(const SoftNetworks& networks, const Batch& batch,
                                const torch::Tensor& noise, const torch::Tensor& alpha,
                                const SoftDesign& design) {
  const auto sample = networks.actor.sample(batch.obs(), noise);
  const auto q = networks.critics.values(batch.obs(), sample.actions, Use::frozen);
  const auto [loss, entropy] = soft_actor_loss(sample.log_prob, q, alpha, design.actor_reduce);
  return {loss, entropy};
}

SoftActorCritic::SoftActorCritic(const SoftOptions& options, const SoftDesign& design,
                                 const AlgorithmContext& context)
    : ActorCritic(options, context, design),
      design_(design),
      temperature_(options, design.temperature, options.learning_rate, context.compute),
      members_(static_cast<size_t>(design.critics)) {
  std::iota(members_.begin(), members_.end(), 0);
}

// The first `target_critics` places of a shuffle; nothing is drawn where all are wanted.
const std::vector<int64_t>& SoftActorCritic::draw_members() {
  const auto count = static_cast<size_t>(design_.critics);
  const auto wanted = static_cast<size_t>(design_.target_critics);
  if (wanted == count) return members_;
  members_.resize(count);
  std::iota(members_.begin(), members_.end(), 0);
  for (size_t i = 0; i < wanted; ++i) std::swap(members_[i], members_[i + rng_.below(count - i)]);
  members_.resize(wanted);
  return members_;
}

Metrics SoftActorCritic::update(const Batch& batch, double lr_scale) {
  ++updates_;
  const auto& alpha = temperature_.value();
  const auto& members = draw_members();
  const auto critic = soft_critic_loss(
      networks_, batch, next_noise_.normal(rng_, batch.actions().sizes()), members, alpha, design_);
  minimize(critic.loss, critic_optimizer_, lr_scale);
  networks_.move_target(options_.tau);

  if (updates_ % design_.actor_interval == 0) {
    const auto actor = soft_policy_loss(
        networks_, batch, noise_.normal(rng_, batch.actions().sizes()), alpha, design_);
    minimize(actor.loss, actor_optimizer_, lr_scale);
    actor_loss_.hold(actor, temperature_.update(actor.entropy));
  }
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
