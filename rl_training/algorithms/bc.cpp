#include "rl_training/algorithms/bc.h"

namespace rl_training {
namespace {

GaussianActor::Options actor_options(const BcOptions& options) {
  GaussianActor::Options result;
  result.hidden_sizes = options.hidden_sizes;
  result.squash = false;
  result.tanh_mean = true;
  result.state_dependent_std = false;
  result.learn_free_std = !options.deterministic();
  result.log_std_min = options.log_std.min;
  result.log_std_max = options.log_std.max;
  return result;
}

}  // namespace

void BcOptions::visit_options(OptionVisitor& options) {
  visit_supervised_options(options);
  options.choice("policy", policy,
                 {{"deterministic", Policy::deterministic}, {"gaussian", Policy::gaussian}},
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

// L = mse(pi(s), a), or -mean log pi(a | s) for a Gaussian policy
BcLoss bc_loss(const BcNetworks& networks, const Batch& batch, const BcOptions& options) {
  const auto head = networks.actor.head(batch.obs());
  if (options.deterministic()) {
    const auto loss = torch::mse_loss(head.mean(), batch.actions());
    return {loss, loss};
  }
  return {-gaussian_log_prob(head, batch.actions()).mean(),
          torch::mse_loss(head.mean().detach(), batch.actions())};
}

Bc::Bc(const BcOptions& options, const AlgorithmContext& context)
    : options_(options),
      explorer_(context.own_seed()),
      networks_(options, context, Rng(context.seed, "init")),
      optimizer_(networks_.actor.parameters(), options.actor_adam(), context.compute) {}

Metrics Bc::update(const Batch& batch, double lr_scale) {
  const auto loss = bc_loss(networks_, batch, options_);
  minimize(loss.loss, optimizer_, lr_scale);
  return metrics_of(loss);
}

torch::Tensor Bc::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  return explorer_.act(networks_.actor, obs, options_.deterministic() ? ActMode::greedy : mode);
}

void Bc::visit_state(StateVisitor& state) {
  state.part("actor", networks_.actor);
  state.part("optimizer", optimizer_);
  explorer_.visit_state(state);
}

AlgorithmInfoOf<Bc, BcOptions> bc_info() {
  return algorithm_info<Bc, BcOptions>({.name = BcOptions::kName,
                                        .title = "BC: behaviour cloning",
                                        .paper = "",
                                        .metrics = metric_names_of<BcLoss>()});
}

}  // namespace rl_training
