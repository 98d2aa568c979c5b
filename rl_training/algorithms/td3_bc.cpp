#include "rl_training/algorithms/td3_bc.h"

#include "rl_training/models/losses.h"

namespace rl_training {

void Td3BcOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.number("bc_alpha", bc_alpha, above(0),
                 "weight of Q against the cloning term; larger trusts Q more");
  options.number("policy_noise", policy_noise, at_least(0),
                 "standard deviation of the target policy's noise, in action units of [-1, 1]");
  options.number("noise_clip", noise_clip, at_least(0), "bound of that noise");
  options.integer("policy_delay", policy_delay, at_least(1),
                  "critic updates for each actor and target update");
  options.number("exploration_noise", exploration_noise, at_least(0),
                 "standard deviation of the noise on actions collected online");
}

// As TD3: L = sum_i mean (Q_i(s, a) - y)^2
Loss td3_bc_critic_loss(const Td3BcNetworks& networks, const Batch& batch,
                        const torch::Tensor& noise, const Td3BcOptions& options) {
  return td3_critic_loss(networks, batch, noise, options.policy_noise, options.noise_clip);
}

// lambda = alpha / mean |Q_1(s, pi(s))| (no gradient);  L = -lambda mean Q_1(s, pi(s)) + mse(pi(s),
// a)
Loss td3_bc_actor_loss(const Td3BcNetworks& networks, const Batch& batch,
                       const Td3BcOptions& options) {
  const auto actions = networks.actor.actions(batch.obs());
  const auto q = networks.critics.first_value(batch.obs(), actions, Use::frozen);
  const auto q_mean = q.mean();
  const auto lambda = options.bc_alpha / q.detach().abs().mean().clamp_min(1e-6);
  const auto bc_loss = torch::mse_loss(actions, batch.actions());
  Loss result;
  result.loss = bc_loss - lambda * q_mean;
  result.metrics.set("actor_loss", result.loss);
  result.metrics.set("bc_loss", bc_loss);
  result.metrics.set("bc_lambda", lambda);
  result.metrics.set("actor_q_mean", q_mean);
  return result;
}

Loss td3_bc_loss(const Td3BcNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                 const Td3BcOptions& options) {
  auto result = td3_bc_critic_loss(networks, batch, noise, options);
  const auto actor = td3_bc_actor_loss(networks, batch, options);
  result.loss = result.loss + actor.loss;
  result.metrics.append(actor.metrics);
  return result;
}

Td3Bc::Td3Bc(const Td3BcOptions& options, const AlgorithmContext& context)
    : options_(options),
      rng_(context.seed, "policy"),
      explore_rng_(context.seed, "explore/policy"),
      networks_(options.hidden_sizes, 2, context, Rng(context.seed, "init")),
      actor_optimizer_(networks_.actor.network(), {.learning_rate = options.learning_rate},
                       context.compute),
      critic_optimizer_(networks_.critics.network(), {.learning_rate = options.learning_rate},
                        context.compute),
      actor_metrics_({"actor_loss", "bc_loss", "bc_lambda", "actor_q_mean"}) {}

Metrics Td3Bc::update(const Batch& batch, double lr_scale) {
  ++updates_;
  auto critic =
      td3_bc_critic_loss(networks_, batch, noise_.normal(rng_, batch.actions().sizes()), options_);
  minimize(critic.loss, critic_optimizer_, lr_scale);

  if (updates_ % options_.policy_delay == 0) {
    const auto actor = td3_bc_actor_loss(networks_, batch, options_);
    minimize(actor.loss, actor_optimizer_, lr_scale);
    networks_.move_targets(options_.tau);
    actor_metrics_.hold(actor.metrics);
  }
  actor_metrics_.report(critic.metrics);
  return critic.metrics;
}

torch::Tensor Td3Bc::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  const torch::NoGradGuard no_grad;
  const auto actions = networks_.actor.actions(obs);
  if (mode == ActMode::greedy) return actions;
  return explore_around(actions, options_.exploration_noise, explore_rng_, explore_noise_);
}

void Td3Bc::visit_state(StateVisitor& state) {
  networks_.visit_state(state);
  state.part("actor_optimizer", actor_optimizer_);
  state.part("critic_optimizer", critic_optimizer_);
  state.part("actor_metrics", actor_metrics_);
  state.part("policy_rng", rng_);
  state.part("explore_rng", explore_rng_);
  state.scalar("updates", updates_);
}

AlgorithmInfo td3_bc_info() {
  return algorithm_info<Td3Bc, Td3BcOptions>(
      {.name = Td3BcOptions::kName,
       .title = "TD3+BC: TD3 with a behaviour-cloning term",
       .paper = "arXiv:2106.06860",
       .metrics = {"critic_loss", "target_q_mean", "actor_loss", "bc_loss", "bc_lambda",
                   "actor_q_mean"}});
}

}  // namespace rl_training
