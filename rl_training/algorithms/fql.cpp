#include "rl_training/algorithms/fql.h"

namespace rl_training {
namespace {

MlpSpec gelu_spec(const FqlOptions& options, int64_t inputs, int64_t outputs) {
  MlpSpec spec;
  spec.inputs = inputs;
  spec.outputs = outputs;
  spec.hidden_sizes = options.hidden_sizes;
  spec.activation = Activation::gelu;
  spec.hidden_init = spec.output_init = xavier_layer();
  return spec;
}

}  // namespace

void FqlOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.number("actor_bc_weight", actor_bc_weight, at_least(0),
                 "weight of the distance to the flow's action in the actor's loss");
  options.flag("normalize_q", normalize_q,
               "divide Q in the actor's loss by its mean absolute value");
  options.choice("target_q", target_q, {{"mean", Reduce::mean}, {"min", Reduce::minimum}},
                 "value of the target critics that is used: their mean or their minimum");
  options.integer("flow_steps", flow_steps, between(1, 1000), "Euler steps of the flow");
}

FqlNetworks::FqlNetworks(const FqlOptions& options, const AlgorithmContext& context, Rng rng)
    : actor(gelu_spec(options, context.obs_dim() + context.action_dim(), context.action_dim()), rng,
            context.compute),
      flow(gelu_spec(options, context.obs_dim() + context.action_dim() + 1, context.action_dim()),
           rng, context.compute),
      critics(context.obs_dim(), context.action_dim(),
              {.hidden_sizes = options.hidden_sizes,
               .activation = Activation::gelu,
               .layer_norm = LayerNorm::after_activation,
               .layer_norm_eps = 1e-6,
               .hidden_init = xavier_layer(),
               .output_init = xavier_layer()},
              rng, context.compute),
      critics_target(critics) {}

torch::Tensor FqlNetworks::velocity(const torch::Tensor& obs, const torch::Tensor& place) const {
  const std::array<int64_t, 2> shape = {obs.size(0), flow.outputs()};
  return flow.forward(obs, place, {.shape = shape});
}

void FqlNetworks::visit_state(StateVisitor& state) {
  state.part("actor", actor);
  state.part("flow", flow);
  state.part("critics", critics);
  state.part("critics_target", critics_target);
}

// x_0 = z;  x_{k+1} = x_k + v(s, x_k, k / n) / n;  result: clip(x_n, +-1)
// with the noise z, the velocity v and n = steps
torch::Tensor fql_flow_actions(const FqlNetworks& networks, const torch::Tensor& obs,
                               const torch::Tensor& noise, int64_t steps) {
  const torch::NoGradGuard no_grad;
  const int64_t actions = noise.size(1);
  const auto place = torch::empty({noise.size(0), actions + 1});
  auto x = place.narrow(1, 0, actions);
  auto time = place.select(1, actions);
  x.copy_(noise);
  for (int64_t step = 0; step < steps; ++step) {
    time.fill_(static_cast<double>(step) / static_cast<double>(steps));
    x.add_(networks.velocity(obs, place), 1.0 / static_cast<double>(steps));
  }
  return x.clamp(-1.0, 1.0);
}

// y = r + gamma (1 - d) Q'(s', clip(mu(s', z), +-1))
// with the actor mu and the noise z. Q' is the mean or the minimum of the target critics, as
// selected by target_q.
torch::Tensor fql_target(const FqlNetworks& networks, const Batch& batch,
                         const torch::Tensor& noise, const FqlOptions& options) {
  const torch::NoGradGuard no_grad;
  const auto next_actions = networks.actor.actions(batch.next_obs(), noise).clamp_(-1.0, 1.0);
  const auto next_q = networks.critics_target.values(batch.next_obs(), next_actions);
  return td_target(batch.rewards(), batch.discount(),
                   options.target_q == Reduce::mean ? next_q.mean(0) : minimum(next_q));
}

// L = mean (Q_i(s, a) - y)^2 over critics i and rows
CriticLoss fql_critic_loss(const FqlNetworks& networks, const Batch& batch,
                           const torch::Tensor& target) {
  const auto q = networks.critics.values(batch.obs(), batch.actions());
  return {squared_error(q, target, 1.0 / static_cast<double>(q.size(0))), mean_of(target)};
}

// x_t = (1 - t) z + t a;  L = mean (v(s, x_t, t) - (a - z))^2 over rows and action dimensions
// with the noise z, the time t and the velocity v
FqlFlowLoss fql_flow_loss(const FqlNetworks& networks, const Batch& batch,
                          const torch::Tensor& noise, const torch::Tensor& time) {
  const auto way = batch.actions() - noise;
  const auto place = torch::cat({noise + time * way, time}, 1);
  return {torch::mse_loss(networks.velocity(batch.obs(), place), way)};
}

// q = mean_i Q_i(s, clip(mu(s, z), +-1))
// lambda = 1 / mean |q|, without gradient, if normalize_q; otherwise lambda = 1.
// L = actor_bc_weight mean (mu(s, z) - flow(s, z))^2 - lambda mean q
// with the actor mu, the noise z and flow(s, z) from fql_flow_actions
FqlActorLoss fql_actor_loss(const FqlNetworks& networks, const Batch& batch,
                            const torch::Tensor& noise, const FqlOptions& options) {
  const auto wanted = fql_flow_actions(networks, batch.obs(), noise, options.flow_steps);
  const auto actions = networks.actor.actions(batch.obs(), noise);
  const auto bc_loss = torch::mse_loss(actions, wanted);
  const auto q =
      networks.critics.values(batch.obs(), actions.clamp(-1.0, 1.0), Use::frozen).mean(0);
  const auto q_mean = q.mean();
  const auto q_loss =
      options.normalize_q ? -q_mean / without_graph(q).abs().mean().clamp_min(1e-6) : -q_mean;
  return {options.actor_bc_weight * bc_loss + q_loss, bc_loss, q_mean};
}

Fql::Fql(const FqlOptions& options, const AlgorithmContext& context)
    : ActorCritic(options, context),
      flow_optimizer_(networks_.flow, options.actor_adam(), context.compute) {}

// All losses use the networks as they were before the update: the target is computed first, and
// each network is updated only after all losses that use it have been computed.
Metrics Fql::update(const Batch& batch, double lr_scale) {
  const auto shape = batch.actions().sizes();
  const auto target = fql_target(networks_, batch, target_noise_.normal(rng_, shape), options_);
  const auto actor = fql_actor_loss(networks_, batch, actor_noise_.normal(rng_, shape), options_);
  minimize(actor.loss, actor_optimizer_, lr_scale);
  const auto flow = fql_flow_loss(networks_, batch, flow_noise_.normal(rng_, shape),
                                  time_.uniform(rng_, {batch.rows(), 1}, 0.0, 1.0));
  minimize(flow.loss, flow_optimizer_, lr_scale);
  const auto critic = fql_critic_loss(networks_, batch, target);
  minimize(critic.loss, critic_optimizer_, lr_scale);
  networks_.critics_target.network().polyak_from(networks_.critics.network(), options_.tau);
  return metrics_of(critic, flow, actor);
}

torch::Tensor Fql::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  const torch::NoGradGuard no_grad;
  const std::array<int64_t, 2> shape = {obs.size(0), networks_.actor.action_dim()};
  const auto noise =
      mode == ActMode::greedy ? torch::zeros(shape) : explore_noise_.normal(explorer_.rng(), shape);
  return networks_.actor.actions(obs, noise).clamp_(-1.0, 1.0);
}

PolicyGraph::Value Fql::describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const {
  // The zero noise is computed as a product of the observation with zero weights, because export
  // formats differ in how they express constants of a given shape.
  const auto actions = static_cast<size_t>(networks_.actor.action_dim());
  const auto width = static_cast<size_t>(graph.node(obs).width);
  const auto noise =
      graph.dense(obs, std::vector<float>(width * actions), std::vector<float>(actions));
  const auto output = networks_.actor.network().describe(graph, graph.concat(obs, noise));
  return graph.clamp(output, -1.0, 1.0);
}

void Fql::visit_state(StateVisitor& state) {
  ActorCritic::visit_state(state);
  state.part("flow_optimizer", flow_optimizer_);
}

AlgorithmInfoOf<Fql, FqlOptions> fql_info() {
  return algorithm_info<Fql, FqlOptions>(
      {.name = FqlOptions::kName,
       .title = "FQL: flow Q-learning, a one-step policy distilled from a flow",
       .paper = "arXiv:2502.02538",
       .online_data_share = std::nullopt,
       .metrics = metric_names_of<CriticLoss, FqlFlowLoss, FqlActorLoss>()});
}

}  // namespace rl_training
