#include "rl_training/algorithms/iql.h"

#include <cmath>

#include "rl_training/models/losses.h"

namespace rl_training {
namespace {

// Initialisation of every layer, as in the authors' code.
LayerInit orthogonal() { return orthogonal_layer(std::sqrt(2.0)); }

GaussianActor::Options actor_options(const ImplicitOptions& options) {
  GaussianActor::Options result;
  result.hidden_sizes = options.hidden_sizes;
  result.squash = false;
  result.tanh_mean = true;
  result.state_dependent_std = false;
  result.learn_free_std = !options.deterministic();
  result.log_std_min = options.log_std.min;
  result.log_std_max = options.log_std.max;
  result.hidden_init = result.output_init = orthogonal();
  return result;
}

MlpSpec value_spec(const ImplicitOptions& options, int64_t obs_dim, LayerNorm norm) {
  MlpSpec spec;
  spec.inputs = obs_dim;
  spec.outputs = 1;
  spec.hidden_sizes = options.hidden_sizes;
  spec.layer_norm = norm;
  spec.layer_norm_eps = 1e-6;
  spec.hidden_init = spec.output_init = orthogonal();
  return spec;
}

}  // namespace

void ImplicitOptions::visit_weight_options(OptionVisitor& options) {
  options.number("beta", beta, at_least(0),
                 "inverse temperature of the advantage weights; 0 weights all actions equally");
  options.number("max_weight", max_weight, above(0), "largest weight of a row");
}

void IqlOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.number("expectile", expectile, strictly_between(0, 1),
                 "expectile of Q that the value estimates: 0.5 is the mean; values near 1 approach "
                 "the best action in the data");
  visit_weight_options(options);
  options.choice("policy", policy,
                 {{"gaussian", Policy::gaussian}, {"deterministic", Policy::deterministic}},
                 "weighted likelihood of a Gaussian, or weighted squared distance");
  options.number("exploration_noise", exploration_noise, at_least(0),
                 "standard deviation of the noise on collected actions of a deterministic policy");
  log_std.visit_options(options);
}

IqlNetworks::IqlNetworks(const ImplicitOptions& options, const AlgorithmContext& context, Rng rng,
                         LayerNorm value_norm)
    : actor(context.obs_dim(), context.action_dim(), actor_options(options), rng, context.compute),
      value(value_spec(options, context.obs_dim(), value_norm), rng, context.compute),
      critics(context.obs_dim(), context.action_dim(),
              {.hidden_sizes = options.hidden_sizes,
               .hidden_init = orthogonal(),
               .output_init = orthogonal()},
              rng, context.compute),
      critics_target(critics) {}

void IqlNetworks::visit_state(StateVisitor& state) {
  state.part("actor", actor);
  state.part("value", value);
  state.part("critics", critics);
  state.part("critics_target", critics_target);
}

torch::Tensor iql_target_q(const IqlNetworks& networks, const Batch& batch) {
  const torch::NoGradGuard no_grad;
  return minimum(networks.critics_target.values(batch.obs(), batch.actions()));
}

// u = min_i Q'_i(s, a) - V(s);  L = mean |expectile - 1[u < 0]| u^2
IqlValueLoss iql_value_loss(const IqlNetworks& networks, const Batch& batch,
                            const torch::Tensor& target_q, const IqlOptions& options) {
  const auto value = networks.values(batch.obs());
  return {expectile_loss(value, target_q, options.expectile), mean_of(without_graph(value))};
}

// w = min(exp(beta (min_i Q'_i(s, a) - V(s))), max_weight), without gradient.
// L = -mean w log pi(a | s), or mean w |pi(s) - a|^2 for a deterministic policy
WeightedCloningLoss iql_actor_loss(const IqlNetworks& networks, const Batch& batch,
                                   const torch::Tensor& target_q, const ImplicitOptions& options) {
  torch::Tensor advantage, weights;
  {
    const torch::NoGradGuard no_grad;
    advantage = target_q - networks.values(batch.obs());
    weights = exp_weights(advantage, options.beta, options.max_weight);
  }
  const auto head = networks.actor.head(batch.obs());
  const auto fit = options.deterministic() ? -(head.mean() - batch.actions()).square().sum(1)
                                           : gaussian_log_prob(head, batch.actions());
  return {weighted_cloning(weights, fit), mean_of(advantage), mean_of(weights)};
}

torch::Tensor iql_target(const IqlNetworks& networks, const Batch& batch) {
  const torch::NoGradGuard no_grad;
  return td_target(batch.rewards(), batch.discount(), networks.values(batch.next_obs()));
}

// y = r + gamma (1 - d) V(s');  L = sum_i mean (Q_i(s, a) - y)^2
CriticLoss iql_critic_loss(const IqlNetworks& networks, const Batch& batch) {
  return critic_loss(networks.critics, batch, iql_target(networks, batch));
}

ImplicitQ::ImplicitQ(const ImplicitOptions& options, const AlgorithmContext& context,
                     LayerNorm value_norm)
    : options_(options),
      explorer_(context.own_seed()),
      networks_(options, context, Rng(context.seed, "init"), value_norm),
      actor_optimizer_(networks_.actor.parameters(), options.actor_adam(), context.compute),
      value_optimizer_(networks_.value, options.critic_adam(), context.compute),
      critic_optimizer_(networks_.critics.network(), options.critic_adam(), context.compute) {}

Metrics ImplicitQ::update(const Batch& batch, double lr_scale) {
  const auto target_q = iql_target_q(networks_, batch);
  const auto value = value_loss(batch, target_q);
  minimize(value.loss, value_optimizer_, 1.0);
  const auto actor = iql_actor_loss(networks_, batch, target_q, options_);
  minimize(actor.loss, actor_optimizer_, lr_scale);
  const auto critic = critic_loss(batch);
  minimize(critic.loss, critic_optimizer_, 1.0);
  networks_.critics_target.network().polyak_from(networks_.critics.network(), options_.tau);
  return metrics_of(value, actor, critic);
}

torch::Tensor ImplicitQ::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  if (options_.deterministic() && mode == ActMode::explore) {
    return explorer_.around(explorer_.act(networks_.actor, obs, ActMode::greedy),
                            options_.exploration_noise);
  }
  return explorer_.act(networks_.actor, obs, mode);
}

void ImplicitQ::visit_state(StateVisitor& state) {
  networks_.visit_state(state);
  state.part("actor_optimizer", actor_optimizer_);
  state.part("value_optimizer", value_optimizer_);
  state.part("critic_optimizer", critic_optimizer_);
  explorer_.visit_state(state);
}

std::vector<std::string> implicit_metrics() {
  return metric_names_of<IqlValueLoss, WeightedCloningLoss, CriticLoss>();
}

AlgorithmInfoOf<Iql, IqlOptions> iql_info() {
  return algorithm_info<Iql, IqlOptions>(
      {.name = IqlOptions::kName,
       .title = "IQL: implicit Q-learning, values from dataset actions only",
       .paper = "arXiv:2110.06169",
       .online_data_share = std::nullopt,
       .metrics = implicit_metrics()});
}

}  // namespace rl_training
