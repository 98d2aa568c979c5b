#include "rl_training/algorithms/on_policy.h"

#include <array>
#include <cmath>
#include <numbers>

#include "rl_training/algorithms/discrete_q.h"

namespace rl_training {
namespace {

constexpr double kObservationLimit = 10.0;  // bound of normalised observations

// Orthogonal weights, zero biases. The actor has a small `output_gain`, so its initial policy is
// nearly the same at every observation, which helps exploration.
MlpSpec tower_spec(const OnPolicyOptions& options, int64_t inputs, int64_t outputs,
                   double output_gain) {
  const auto orthogonal = [](double gain) {
    LayerInit init;
    init.weight = LayerInit::Weight::orthogonal;
    init.weight_scale = gain;
    init.bias = LayerInit::Bias::constant;
    return init;
  };
  MlpSpec spec;
  spec.inputs = inputs;
  spec.outputs = outputs;
  spec.hidden_sizes = options.hidden_sizes;
  spec.activation = Activation::tanh;
  spec.hidden_init = orthogonal(std::numbers::sqrt2);
  spec.output_init = orthogonal(output_gain);
  return spec;
}

}  // namespace

void OnPolicyOptions::visit_on_policy_options(OptionVisitor& options) {
  visit_supervised_options(options);
  rollout.visit_options(options);
  options.number(
      "initial_log_std", initial_log_std, between(-20, 2),
      "initial logarithm of the policy's standard deviation; unused for discrete actions");
}

BatchRequest OnPolicyOptions::request() const {
  auto request = AlgorithmOptions::request();
  using enum BatchColumn;
  request.columns = {obs, action, log_prob, value, advantage};
  return request;
}

torch::Tensor ActionDistribution::log_std() const {
  return head.free_log_std.clamp(head.log_std_min, head.log_std_max);
}

torch::Tensor ActionDistribution::log_prob(const torch::Tensor& actions) const {
  return discrete() ? values_of(log_probs, actions) : gaussian_log_prob(head, actions);
}

// Continuous: sum_j (log std_j + log(2 pi e) / 2); discrete: -sum_a p(a) log p(a)
torch::Tensor ActionDistribution::entropy() const {
  if (discrete()) return -(log_probs.exp() * log_probs).sum(1).mean();
  const double constant = 0.5 * std::log(2 * std::numbers::pi * std::numbers::e);
  return (log_std() + constant).sum();
}

// Continuous, with means m and standard deviations s (a prime marks `other`):
//   sum_j (log(s'_j / s_j) + (s_j^2 + (m_j - m'_j)^2) / (2 s'_j^2) - 1/2)
// Discrete: sum_a p(a) (log p(a) - log p'(a))
torch::Tensor ActionDistribution::kl_from(const ActionDistribution& other) const {
  if (discrete()) return (log_probs.exp() * (log_probs - other.log_probs)).sum(1).mean();
  const auto own = log_std(), others = other.log_std();
  const auto squares = (2 * own).exp() + (head.mean() - other.head.mean()).square();
  return (others - own + squares / (2 * (2 * others).exp()) - 0.5).sum(1).mean();
}

ActionDistribution ActionDistribution::detached() const {
  ActionDistribution result = *this;
  if (discrete()) {
    result.log_probs = log_probs.detach();
  } else {
    result.head.output = head.output.detach();
    result.head.free_log_std = head.free_log_std.detach().clone();
  }
  return result;
}

OnPolicyNetworks::OnPolicyNetworks(const OnPolicyOptions& options, const AlgorithmContext& context,
                                   Rng rng)
    : clips_observations(options.rollout.normalize_observations),
      actor(tower_spec(
                options, context.obs_dim(),
                context.action.is_discrete() ? context.action.categories : context.action_dim(),
                0.01),
            rng, context.compute),
      critic(tower_spec(options, context.obs_dim(), 1, 1.0), rng, context.compute) {
  if (context.action.is_discrete()) return;
  log_std = torch::full({context.action_dim()}, options.initial_log_std, torch::kFloat)
                .set_requires_grad(true);
}

torch::Tensor OnPolicyNetworks::seen(const torch::Tensor& obs) const {
  return clips_observations ? obs.clamp(-kObservationLimit, kObservationLimit) : obs;
}

ActionDistribution OnPolicyNetworks::distribution(const torch::Tensor& obs,
                                                  bool twice_differentiable) const {
  const std::array<int64_t, 2> shape = {obs.size(0), actor.outputs()};
  const auto output =
      actor.forward(seen(obs), {}, {.shape = shape, .twice_differentiable = twice_differentiable});
  if (!log_std.defined()) return {{}, output.log_softmax(1)};
  GaussianHead head;
  head.output = output;
  head.free_log_std = log_std;
  head.squash = false;
  return {head, {}};
}

torch::Tensor OnPolicyNetworks::values(const torch::Tensor& obs) const {
  const std::array<int64_t, 1> shape = {obs.size(0)};
  return critic.forward(seen(obs), {}, {.shape = shape});
}

std::vector<torch::Tensor> OnPolicyNetworks::policy_parameters() const {
  if (!log_std.defined()) return {actor.parameters()};
  return {actor.parameters(), log_std};
}

void OnPolicyNetworks::visit_state(StateVisitor& state) {
  state.part("actor", actor);
  if (log_std.defined()) visit_tensor(state, "log_std", log_std);
  state.part("critic", critic);
}

torch::Tensor standardized(const torch::Tensor& advantages) {
  return (advantages - advantages.mean()) / (advantages.std(/*unbiased=*/true) + 1e-8);
}

OnPolicyAlgorithm::OnPolicyAlgorithm(const OnPolicyOptions& options,
                                     const AlgorithmContext& context)
    : networks_(options, context, Rng(context.seed, "init")),
      explore_rng_(context.seed, "explore/policy") {}

// Continuous actions are not clipped.
torch::Tensor OnPolicyAlgorithm::draw(const ActionDistribution& distribution) {
  if (distribution.discrete()) {
    const int64_t rows = distribution.log_probs.size(0);
    return draw_choices(distribution.log_probs, noise_.uniform(explore_rng_, {rows, 1}, 0, 1));
  }
  const auto mean = distribution.head.mean();
  return mean + distribution.log_std().exp() * noise_.normal(explore_rng_, mean.sizes());
}

RolloutActions OnPolicyAlgorithm::roll(const torch::Tensor& obs) {
  const torch::NoGradGuard no_grad;
  const auto distribution = networks_.distribution(obs);
  RolloutActions result;
  result.actions = draw(distribution).contiguous();
  result.log_probs = distribution.log_prob(result.actions).contiguous();
  result.values = state_values(obs);
  return result;
}

torch::Tensor OnPolicyAlgorithm::state_values(const torch::Tensor& obs) const {
  const torch::NoGradGuard no_grad;
  return networks_.values(obs).contiguous();
}

torch::Tensor OnPolicyAlgorithm::act(const torch::Tensor& obs, PolicyState& /*state*/,
                                     ActMode mode) {
  const torch::NoGradGuard no_grad;
  const auto distribution = networks_.distribution(obs);
  if (mode == ActMode::explore) {
    const auto drawn = draw(distribution);
    return distribution.discrete() ? drawn : drawn.clamp(-1.0, 1.0);
  }
  if (distribution.discrete()) return distribution.log_probs.argmax(1);
  return distribution.head.mean().clamp(-1.0, 1.0);
}

PolicyGraph::Value OnPolicyAlgorithm::describe_policy(PolicyGraph& graph,
                                                      PolicyGraph::Value obs) const {
  if (networks_.clips_observations) obs = graph.clamp(obs, -kObservationLimit, kObservationLimit);
  const auto output = networks_.actor.describe(graph, obs);
  return networks_.log_std.defined() ? graph.clamp(output, -1.0, 1.0) : graph.argmax(output);
}

torch::Tensor OnPolicyAlgorithm::log_density(const torch::Tensor& obs,
                                             const torch::Tensor& actions) const {
  const torch::NoGradGuard no_grad;
  return networks_.distribution(obs).log_prob(actions);
}

void OnPolicyAlgorithm::visit_state(StateVisitor& state) {
  networks_.visit_state(state);
  state.part("explore_rng", explore_rng_);
}

}  // namespace rl_training
