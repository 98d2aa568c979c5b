#include "rl_training/algorithms/awac.h"

#include "rl_training/models/losses.h"

namespace rl_training {
namespace {

GaussianActor::Options actor_options(const AwacOptions& options) {
  GaussianActor::Options result;
  result.hidden_sizes = options.hidden_sizes;
  result.squash = false;
  result.state_dependent_std = false;
  result.log_std_min = options.log_std.min;
  result.log_std_max = options.log_std.max;
  return result;
}

}  // namespace

void AwacOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.number("awac_lambda", awac_lambda, above(0),
                 "temperature of the advantage weights; larger clones all actions alike");
  options.number("max_weight", max_weight, above(0),
                 "largest weight of a row, for weight_normalisation: clip");
  options.choice(
      "weight_normalisation", weight_normalisation, {"clip", "softmax"},
      "exp(advantage / lambda) up to max_weight, or rows times its softmax over a batch");
  log_std.visit_options(options);
}

AwacNetworks::AwacNetworks(const AwacOptions& options, const AlgorithmContext& context, Rng rng)
    : actor(context.obs_dim(), context.action_dim(), actor_options(options), rng, context.compute),
      critics(context.obs_dim(), context.action_dim(), {.hidden_sizes = options.hidden_sizes}, rng,
              context.compute),
      critics_target(critics) {}

torch::Tensor awac_weights(const torch::Tensor& advantage, const AwacOptions& options) {
  const torch::NoGradGuard no_grad;
  const auto exponent = advantage / options.awac_lambda;
  if (options.weight_normalisation == "clip") return exp_weights(exponent, options.max_weight);
  return torch::softmax(exponent, 0) * static_cast<double>(advantage.numel());
}

// y = r + gamma (1 - d) min_i Q'_i(s', a'), a' ~ pi(s') clipped;  L = sum_i mean (Q_i(s, a) - y)^2
Loss awac_critic_loss(const AwacNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                      const AwacOptions& options) {
  torch::Tensor target;
  {
    const torch::NoGradGuard no_grad;
    const auto next_actions = gaussian_actions(networks.actor.head(batch.next_obs()), noise);
    const auto next_q = networks.critics_target.values(batch.next_obs(), next_actions);
    target = td_target(batch.rewards(), batch.discount(), minimum(next_q));
  }
  Loss result;
  result.loss = squared_error(networks.critics.values(batch.obs(), batch.actions()), target);
  result.metrics.set("critic_loss", result.loss);
  result.metrics.set("target_q_mean", target.mean());
  return result;
}

// A = min_i Q_i(s, a) - min_i Q_i(s, b), b ~ pi(s) clipped;  L = -mean w(A) log pi(a | s) with
// w = min(exp(A / lambda), cap) or rows * softmax(A / lambda) (no gradient)
Loss awac_actor_loss(const AwacNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                     const AwacOptions& options) {
  const auto head = networks.actor.head(batch.obs());
  torch::Tensor advantage;
  {
    const torch::NoGradGuard no_grad;
    const auto own_actions = gaussian_actions(head, noise);
    advantage = minimum(networks.critics.values(batch.obs(), batch.actions()))
                    .sub_(minimum(networks.critics.values(batch.obs(), own_actions)));
  }
  const auto weights = awac_weights(advantage, options);
  Loss result;
  result.loss = weighted_cloning(weights, gaussian_log_prob(head, batch.actions()));
  result.metrics.set("actor_loss", result.loss);
  result.metrics.set("advantage_mean", advantage.mean());
  result.metrics.set("advantage_weight_mean", weights.mean());
  return result;
}

Loss awac_loss(const AwacNetworks& networks, const Batch& batch, const torch::Tensor& critic_noise,
               const torch::Tensor& actor_noise, const AwacOptions& options) {
  auto result = awac_critic_loss(networks, batch, critic_noise, options);
  const auto actor = awac_actor_loss(networks, batch, actor_noise, options);
  result.loss = result.loss + actor.loss;
  result.metrics.append(actor.metrics);
  return result;
}

Awac::Awac(const AwacOptions& options, const AlgorithmContext& context)
    : options_(options),
      rng_(context.seed, "policy"),
      explore_rng_(context.seed, "explore/policy"),
      networks_(options, context, Rng(context.seed, "init")),
      actor_optimizer_(networks_.actor.parameters(), {.learning_rate = options.learning_rate},
                       context.compute),
      critic_optimizer_(networks_.critics.network(), {.learning_rate = options.learning_rate},
                        context.compute) {}

Metrics Awac::update(const Batch& batch, double lr_scale) {
  const auto shape = batch.actions().sizes();
  auto critic = awac_critic_loss(networks_, batch, noise_.normal(rng_, shape), options_);
  minimize(critic.loss, critic_optimizer_, lr_scale);
  const auto actor = awac_actor_loss(networks_, batch, noise_.normal(rng_, shape), options_);
  minimize(actor.loss, actor_optimizer_, lr_scale);
  networks_.critics_target.network().polyak_from(networks_.critics.network(), options_.tau);
  critic.metrics.append(actor.metrics);
  return critic.metrics;
}

torch::Tensor Awac::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  const torch::NoGradGuard no_grad;
  if (mode == ActMode::greedy) return networks_.actor.mode(obs);
  return gaussian_actions(networks_.actor.head(obs),
                          noise_.normal(explore_rng_, {obs.size(0), networks_.actor.action_dim()}));
}

void Awac::visit_state(StateVisitor& state) {
  state.part("actor", networks_.actor);
  state.part("critics", networks_.critics);
  state.part("critics_target", networks_.critics_target);
  state.part("actor_optimizer", actor_optimizer_);
  state.part("critic_optimizer", critic_optimizer_);
  state.part("policy_rng", rng_);
  state.part("explore_rng", explore_rng_);
}

AlgorithmInfo awac_info() {
  return algorithm_info<Awac, AwacOptions>(
      {.name = AwacOptions::kName,
       .title = "AWAC: actor-critic with advantage-weighted cloning",
       .paper = "arXiv:2006.09359",
       .online_data_share = std::nullopt,
       .metrics = {"critic_loss", "target_q_mean", "actor_loss", "advantage_mean",
                   "advantage_weight_mean"}});
}

}  // namespace rl_training
