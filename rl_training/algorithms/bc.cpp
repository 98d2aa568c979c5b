#include "rl_training/algorithms/bc.h"

namespace rl_training {
namespace {

GaussianActor::Options actor_options(const BcOptions& options) {
  GaussianActor::Options result;
  result.hidden_sizes = options.hidden_sizes;
  result.squash = false;
  result.tanh_mean = true;
  result.state_dependent_std = false;
  result.log_std_min = options.log_std.min;
  result.log_std_max = options.log_std.max;
  return result;
}

}  // namespace

void BcOptions::visit_options(OptionVisitor& options) {
  visit_supervised_options(options);
  options.choice("policy", policy, {"deterministic", "gaussian"},
                 "mean squared error, or likelihood of a Gaussian");
  log_std.visit_options(options);
}

BatchRequest BcOptions::request() const {
  auto request = AlgorithmOptions::request();
  request.columns = {BatchColumn::obs, BatchColumn::action};
  return request;
}

BcNetworks::BcNetworks(const BcOptions& options, const AlgorithmContext& context, Rng rng)
    : actor(context.obs_dim(), context.action_dim(), actor_options(options), rng, context.compute) {
}

std::vector<torch::Tensor> BcNetworks::leaves(const BcOptions& options) const {
  auto leaves = actor.parameters();
  if (options.deterministic()) leaves.resize(1);
  return leaves;
}

// L = mse(pi(s), a), or -mean log pi(a | s) for a Gaussian policy
Loss bc_loss(const BcNetworks& networks, const Batch& batch, const BcOptions& options) {
  const auto head = networks.actor.head(batch.obs());
  Loss result;
  if (options.deterministic()) {
    result.loss = torch::mse_loss(head.mean(), batch.actions());
    result.metrics.set("actor_loss", result.loss);
    result.metrics.set("bc_loss", result.loss);
    return result;
  }
  result.loss = -gaussian_log_prob(head, batch.actions()).mean();
  result.metrics.set("actor_loss", result.loss);
  result.metrics.set("bc_loss", torch::mse_loss(head.mean().detach(), batch.actions()));
  return result;
}

Bc::Bc(const BcOptions& options, const AlgorithmContext& context)
    : options_(options),
      explore_rng_(context.seed, "explore/policy"),
      networks_(options, context, Rng(context.seed, "init")),
      optimizer_(networks_.leaves(options), {.learning_rate = options.learning_rate},
                 context.compute) {}

Metrics Bc::update(const Batch& batch, double lr_scale) {
  const auto loss = bc_loss(networks_, batch, options_);
  minimize(loss.loss, optimizer_, lr_scale);
  return loss.metrics;
}

torch::Tensor Bc::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  const torch::NoGradGuard no_grad;
  if (mode == ActMode::greedy || options_.deterministic()) return networks_.actor.mode(obs);
  return gaussian_actions(networks_.actor.head(obs),
                          noise_.normal(explore_rng_, {obs.size(0), networks_.actor.action_dim()}));
}

void Bc::visit_state(StateVisitor& state) {
  state.part("actor", networks_.actor);
  state.part("optimizer", optimizer_);
  state.part("explore_rng", explore_rng_);
}

AlgorithmInfo bc_info() {
  return algorithm_info<Bc, BcOptions>({.name = BcOptions::kName,
                                        .title = "BC: behaviour cloning",
                                        .paper = "",
                                        .metrics = {"actor_loss", "bc_loss"}});
}

}  // namespace rl_training
