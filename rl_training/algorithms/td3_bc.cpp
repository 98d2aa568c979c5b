#include "rl_training/algorithms/td3_bc.h"

#include <algorithm>

#include "rl_training/models/losses.h"

namespace rl_training {

void Td3BcOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.number("bc_alpha", bc_alpha, above(0),
                 "weight of Q against the cloning term; larger trusts Q more");
  visit_delayed_options(options);
}

// lambda = bc_alpha / mean |Q_1(s, pi(s))|, without gradient.
// L = -lambda mean Q_1(s, pi(s)) + mse(pi(s), a)
Td3BcActorLoss td3_bc_actor_loss(const Td3Networks& networks, const Batch& batch,
                                 const Td3BcOptions& options) {
  const auto actions = networks.actor.actions(batch.obs());
  const auto q = networks.critics.first_value(batch.obs(), actions, Use::frozen);
  const auto q_mean = mean_of(q);
  const double lambda = options.bc_alpha / std::max(mean_abs(q), 1e-6);
  const auto bc_loss = mean_squared_error(actions, batch.actions());
  return {weighted_sum({{1.0, bc_loss}, {-lambda, q_mean}}), bc_loss, scalar(lambda), q_mean};
}

JointLoss<CriticLoss, Td3BcActorLoss> td3_bc_loss(const Td3Networks& networks, const Batch& batch,
                                                  const torch::Tensor& noise,
                                                  const Td3BcOptions& options) {
  return joint_loss(td3_critic_loss(networks, batch, noise, options),
                    td3_bc_actor_loss(networks, batch, options));
}

Metrics Td3Bc::update(const Batch& batch, double lr_scale) {
  ++updates_;
  const auto critic =
      td3_critic_loss(networks_, batch, noise_.normal(rng_, batch.actions().sizes()), options_);
  minimize(critic.loss, critic_optimizer_, lr_scale);

  if (updates_ % options_.policy_delay == 0) {
    const auto actor = td3_bc_actor_loss(networks_, batch, options_);
    minimize(actor.loss, actor_optimizer_, lr_scale);
    networks_.move_targets(options_.tau);
    actor_loss_.hold(actor);
  }
  return metrics_of(critic, actor_loss_);
}

AlgorithmInfoOf<Td3Bc, Td3BcOptions> td3_bc_info() {
  return algorithm_info<Td3Bc, Td3BcOptions>(
      {.name = Td3BcOptions::kName,
       .title = "TD3+BC: TD3 with a behaviour-cloning term",
       .paper = "arXiv:2106.06860",
       .metrics = metric_names_of<CriticLoss, Td3BcActorLoss>()});
}

}  // namespace rl_training
