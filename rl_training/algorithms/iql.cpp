#include "rl_training/algorithms/iql.h"

#include <cmath>

#include "rl_training/algorithms/td3.h"
#include "rl_training/models/losses.h"

namespace rl_training {
namespace {

// As in the authors' code: orthogonal weights with gain sqrt(2) and zero biases in every layer.
LayerInit orthogonal() {
  return {.weight = LayerInit::Weight::orthogonal,
          .weight_scale = std::sqrt(2.0),
          .bias = LayerInit::Bias::constant};
}

GaussianActor::Options actor_options(const IqlOptions& options) {
  GaussianActor::Options result;
  result.hidden_sizes = options.hidden_sizes;
  result.squash = false;
  result.tanh_mean = true;
  result.state_dependent_std = false;
  result.log_std_min = options.log_std.min;
  result.log_std_max = options.log_std.max;
  result.hidden_init = result.output_init = orthogonal();
  return result;
}

MlpSpec value_spec(const IqlOptions& options, int64_t obs_dim) {
  MlpSpec spec;
  spec.inputs = obs_dim;
  spec.outputs = 1;
  spec.hidden_sizes = options.hidden_sizes;
  spec.hidden_init = spec.output_init = orthogonal();
  return spec;
}

}  // namespace

void IqlOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.number("expectile", expectile, strictly_between(0, 1),
                 "which expectile of Q the value is: 0.5 the mean, towards 1 the best of the data");
  options.number("beta", beta, at_least(0),
                 "inverse temperature of the advantage weights; 0 clones all actions alike");
  options.number("max_weight", max_weight, above(0), "largest weight of a row");
  options.choice("policy", policy, {"gaussian", "deterministic"},
                 "weighted likelihood of a Gaussian, or weighted squared distance");
  options.number("exploration_noise", exploration_noise, at_least(0),
                 "standard deviation of the noise on collected actions of a deterministic policy");
  log_std.visit_options(options);
}

IqlNetworks::IqlNetworks(const IqlOptions& options, const AlgorithmContext& context, Rng rng)
    : actor(context.obs_dim(), context.action_dim(), actor_options(options), rng, context.compute),
      value(value_spec(options, context.obs_dim()), rng, context.compute),
      critics(context.obs_dim(), context.action_dim(),
              {.hidden_sizes = options.hidden_sizes,
               .hidden_init = orthogonal(),
               .output_init = orthogonal()},
              rng, context.compute),
      critics_target(critics) {}

std::vector<torch::Tensor> IqlNetworks::actor_leaves(const IqlOptions& options) const {
  auto leaves = actor.parameters();
  if (options.deterministic()) leaves.resize(1);
  return leaves;
}

torch::Tensor iql_target_q(const IqlNetworks& networks, const Batch& batch) {
  const torch::NoGradGuard no_grad;
  return minimum(networks.critics_target.values(batch.obs(), batch.actions()));
}

// u = min_i Q'_i(s, a) - V(s);  L = mean |expectile - 1[u < 0]| u^2
Loss iql_value_loss(const IqlNetworks& networks, const Batch& batch, const torch::Tensor& target_q,
                    const IqlOptions& options) {
  const auto value = networks.values(batch.obs());
  Loss result;
  result.loss = expectile_loss(target_q - value, options.expectile);
  result.metrics.set("value_loss", result.loss);
  result.metrics.set("value_mean", value.detach().mean());
  return result;
}

// w = min(exp(beta (min_i Q'_i(s, a) - V(s))), cap) (no gradient);  L = -mean w log pi(a | s),
// or mean w |pi(s) - a|^2 for a deterministic policy
Loss iql_actor_loss(const IqlNetworks& networks, const Batch& batch, const torch::Tensor& target_q,
                    const IqlOptions& options) {
  torch::Tensor advantage, weights;
  {
    const torch::NoGradGuard no_grad;
    advantage = target_q - networks.values(batch.obs());
    weights = exp_weights(advantage * options.beta, options.max_weight);
  }
  const auto head = networks.actor.head(batch.obs());
  Loss result;
  result.loss = options.deterministic()
                    ? weighted_cloning(weights, -(head.mean() - batch.actions()).square().sum(1))
                    : weighted_cloning(weights, gaussian_log_prob(head, batch.actions()));
  result.metrics.set("actor_loss", result.loss);
  result.metrics.set("advantage_mean", advantage.mean());
  result.metrics.set("advantage_weight_mean", weights.mean());
  return result;
}

// y = r + gamma (1 - d) V(s');  L = sum_i mean (Q_i(s, a) - y)^2
Loss iql_critic_loss(const IqlNetworks& networks, const Batch& batch, const IqlOptions& options) {
  torch::Tensor target;
  {
    const torch::NoGradGuard no_grad;
    target = td_target(batch.rewards(), batch.discount(), networks.values(batch.next_obs()));
  }
  Loss result;
  result.loss = squared_error(networks.critics.values(batch.obs(), batch.actions()), target);
  result.metrics.set("critic_loss", result.loss);
  result.metrics.set("target_q_mean", target.mean());
  return result;
}

Loss iql_loss(const IqlNetworks& networks, const Batch& batch, const IqlOptions& options) {
  const auto target_q = iql_target_q(networks, batch);
  auto result = iql_value_loss(networks, batch, target_q, options);
  for (const auto& part : {iql_actor_loss(networks, batch, target_q, options),
                           iql_critic_loss(networks, batch, options)}) {
    result.loss = result.loss + part.loss;
    result.metrics.append(part.metrics);
  }
  return result;
}

Iql::Iql(const IqlOptions& options, const AlgorithmContext& context)
    : options_(options),
      explore_rng_(context.seed, "explore/policy"),
      networks_(options, context, Rng(context.seed, "init")),
      actor_optimizer_(networks_.actor_leaves(options), {.learning_rate = options.learning_rate},
                       context.compute),
      value_optimizer_(networks_.value, {.learning_rate = options.learning_rate}, context.compute),
      critic_optimizer_(networks_.critics.network(), {.learning_rate = options.learning_rate},
                        context.compute) {}

Metrics Iql::update(const Batch& batch, double lr_scale) {
  const auto target_q = iql_target_q(networks_, batch);
  auto value = iql_value_loss(networks_, batch, target_q, options_);
  minimize(value.loss, value_optimizer_, 1.0);
  const auto actor = iql_actor_loss(networks_, batch, target_q, options_);
  minimize(actor.loss, actor_optimizer_, lr_scale);
  const auto critic = iql_critic_loss(networks_, batch, options_);
  minimize(critic.loss, critic_optimizer_, 1.0);
  networks_.critics_target.network().polyak_from(networks_.critics.network(), options_.tau);
  value.metrics.append(actor.metrics);
  value.metrics.append(critic.metrics);
  return value.metrics;
}

torch::Tensor Iql::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  const torch::NoGradGuard no_grad;
  if (mode == ActMode::greedy) return networks_.actor.mode(obs);
  if (options_.deterministic()) {
    return explore_around(networks_.actor.mode(obs), options_.exploration_noise, explore_rng_,
                          noise_);
  }
  return gaussian_actions(networks_.actor.head(obs),
                          noise_.normal(explore_rng_, {obs.size(0), networks_.actor.action_dim()}));
}

void Iql::visit_state(StateVisitor& state) {
  state.part("actor", networks_.actor);
  state.part("value", networks_.value);
  state.part("critics", networks_.critics);
  state.part("critics_target", networks_.critics_target);
  state.part("actor_optimizer", actor_optimizer_);
  state.part("value_optimizer", value_optimizer_);
  state.part("critic_optimizer", critic_optimizer_);
  state.part("explore_rng", explore_rng_);
}

AlgorithmInfo iql_info() {
  return algorithm_info<Iql, IqlOptions>(
      {.name = IqlOptions::kName,
       .title = "IQL: implicit Q-learning, values without out-of-data actions",
       .paper = "arXiv:2110.06169",
       .online_data_share = std::nullopt,
       .metrics = {"value_loss", "value_mean", "actor_loss", "advantage_mean",
                   "advantage_weight_mean", "critic_loss", "target_q_mean"}});
}

}  // namespace rl_training
