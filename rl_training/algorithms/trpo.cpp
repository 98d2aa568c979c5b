#include "rl_training/algorithms/trpo.h"

#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <span>
#include <utility>

#include "rl_training/models/losses.h"

namespace rl_training {
namespace {

torch::Tensor flat_gradient(const torch::Tensor& value, const std::vector<torch::Tensor>& leaves,
                            bool with_graph) {
  const auto parts = torch::autograd::grad({value}, leaves, {}, /*retain_graph=*/true, with_graph);
  return torch::cat(parts);
}

// Sets leaf = start + scale * step for each leaf, where `step` is one flat vector over all leaves.
void move_leaves(const std::vector<torch::Tensor>& leaves, const std::vector<torch::Tensor>& start,
                 const torch::Tensor& step, double scale) {
  const torch::NoGradGuard no_grad;
  int64_t first = 0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const auto& leaf = leaves[i];
    leaf.copy_(start[i] + scale * step.narrow(0, first, leaf.numel()));
    first += leaf.numel();
  }
}

}  // namespace

void TrpoOptions::visit_options(OptionVisitor& options) {
  visit_on_policy_options(options);
  options.number("target_kl", target_kl, above(0), "largest mean KL divergence of a policy step");
  options.number("damping", damping, at_least(0),
                 "multiple of the identity that is added to the Fisher matrix");
  options.integer("cg_iterations", cg_iterations, between(1, 1000),
                  "iterations of conjugate gradients");
  options.integer("line_search_steps", line_search_steps, between(1, 1000),
                  "shorter steps tried before the policy is left unchanged");
  options.number("line_search_decay", line_search_decay, strictly_between(0, 1),
                 "length of each such step relative to the previous one");
  options.integer("critic_epochs", critic_epochs, between(1, 10000),
                  "passes of the value function over a rollout");
}

BatchRequest TrpoOptions::request() const {
  auto request = OnPolicyOptions::request();
  request.rows = rollout.steps;
  return request;
}

std::vector<PhaseSpec> TrpoOptions::phases(int64_t total_timesteps) const {
  auto used = rollout;
  used.epochs = used.minibatches = 1;
  return rollout_phases(used, total_timesteps);
}

FisherProduct::FisherProduct(const OnPolicyNetworks& networks, const torch::Tensor& obs,
                             double damping)
    : leaves_(networks.policy_parameters()), damping_(damping) {
  const auto policy = networks.distribution(obs, /*twice_differentiable=*/true);
  kl_gradient_ = flat_gradient(policy.kl_from(policy.detached()), leaves_, /*with_graph=*/true);
}

// (F + damping I) v with F v = d/dtheta (d KL / dtheta . v)
torch::Tensor FisherProduct::operator()(const torch::Tensor& v) const {
  const auto product = flat_gradient(kl_gradient_.dot(v), leaves_, /*with_graph=*/false);
  return product + damping_ * v;
}

torch::Tensor conjugate_gradients(const std::function<torch::Tensor(const torch::Tensor&)>& product,
                                  const torch::Tensor& b, int64_t iterations) {
  constexpr double kTolerance = 1e-10;
  auto x = torch::zeros_like(b), residual = b.clone(), direction = b.clone();
  auto squares = residual.dot(residual);
  for (int64_t i = 0; i < iterations && squares.item<double>() > kTolerance; ++i) {
    const auto along = product(direction);
    const auto length = squares / direction.dot(along);
    x = x + length * direction;
    residual = residual - length * along;
    const auto next = residual.dot(residual);
    direction = residual + next / squares * direction;
    squares = next;
  }
  return x;
}

torch::Tensor surrogate_objective(const ActionDistribution& policy, const Batch& batch,
                                  const torch::Tensor& advantages) {
  return (advantages * (policy.log_prob(batch.actions()) - batch.log_probs()).exp()).mean();
}

// Conjugate gradients solve H x = g with the objective's gradient g and H = F + damping I. The full
// step is sqrt(2 target_kl / (x^T H x)) x. The line search shortens the step until the objective is
// above its old value and mean KL(new || old) < target_kl. If no step meets both conditions, the
// policy does not change.
TrustRegionStep trust_region_step(const OnPolicyNetworks& networks, const Batch& batch,
                                  const TrpoOptions& options) {
  const auto advantages = standardized(batch.advantages());
  const auto leaves = networks.policy_parameters();
  std::vector<torch::Tensor> start;
  start.reserve(leaves.size());
  for (const auto& leaf : leaves) start.push_back(leaf.detach().clone());
  const auto before = networks.distribution(batch.obs(), /*twice_differentiable=*/true);
  const auto old = before.detached();
  const auto objective = surrogate_objective(before, batch, advantages);
  const auto gradient = flat_gradient(objective, leaves, /*with_graph=*/false);
  const FisherProduct fisher(networks, batch.obs(), options.damping);
  const auto direction = conjugate_gradients([&](const torch::Tensor& v) { return fisher(v); },
                                             gradient, options.cg_iterations);
  const double curvature = direction.dot(fisher(direction)).item<double>();

  const torch::NoGradGuard no_grad;
  TrustRegionStep result = {objective.detach(), scalar(0), scalar(0), old.entropy()};
  if (!(curvature > 0)) return result;  // the gradient is 0 or not finite
  const double full = std::sqrt(2 * options.target_kl / curvature);
  double share = 1;
  for (int64_t i = 0; i < options.line_search_steps; ++i, share *= options.line_search_decay) {
    move_leaves(leaves, start, direction, share * full);
    const auto policy = networks.distribution(batch.obs());
    const auto reached = surrogate_objective(policy, batch, advantages), kl = policy.kl_from(old);
    if (number(kl) < options.target_kl && number(reached) > number(objective)) {
      return {reached, kl, scalar(share), policy.entropy()};
    }
  }
  move_leaves(leaves, start, direction, 0);
  return result;
}

Trpo::Trpo(const TrpoOptions& options, const AlgorithmContext& context)
    : OnPolicyAlgorithm(options, context),
      options_(options),
      rng_(context.seed, "policy"),
      optimizer_(networks_.critic, options.critic_adam(), context.compute) {}

Metrics Trpo::update(const Batch& batch, double lr_scale) {
  const auto step = trust_region_step(networks_, batch, options_);
  return metrics_of(step, fit_values(batch, lr_scale));
}

// L = mean (V - R)^2 over the rows of a minibatch with the returns R = A + V_old
TrpoValueLoss Trpo::fit_values(const Batch& batch, double lr_scale) {
  const auto returns = batch.advantages() + batch.values();
  auto order = torch::arange(batch.rows(), torch::kLong);
  const std::span<int64_t> rows = {order.data_ptr<int64_t>(), static_cast<size_t>(batch.rows())};
  TrpoValueLoss result;
  for (int64_t epoch = 0; epoch < options_.critic_epochs; ++epoch) {
    for (size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[rng_.below(i)]);
    for (const auto& part : order.split(options_.batch_size)) {
      const auto values = networks_.values(batch.obs().index_select(0, part));
      result.loss = (values - returns.index_select(0, part)).square().mean();
      minimize(result.loss, optimizer_, lr_scale);
    }
  }
  return result;
}

void Trpo::visit_state(StateVisitor& state) {
  OnPolicyAlgorithm::visit_state(state);
  state.part("policy_rng", rng_);
  state.part("optimizer", optimizer_);
}

AlgorithmInfoOf<Trpo, TrpoOptions> trpo_info() {
  return algorithm_info<Trpo, TrpoOptions>(
      {.name = TrpoOptions::kName,
       .title = "TRPO: trust region policy optimisation",
       .paper = "arXiv:1502.05477",
       .actions = ActionKind::either,
       .metrics = metric_names_of<TrustRegionStep, TrpoValueLoss>()});
}

}  // namespace rl_training
