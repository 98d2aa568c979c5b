#include "rl_training/algorithms/ppo.h"

#include "rl_training/models/losses.h"

namespace rl_training {
namespace {

constexpr double kAdamEpsilon = 1e-5;
constexpr double kKlSlack = 1.5;  // updates on a rollout stop if KL exceeds this * target_kl

std::vector<torch::Tensor> all_parameters(const OnPolicyNetworks& networks) {
  auto leaves = networks.policy_parameters();
  leaves.push_back(networks.critic.parameters());
  return leaves;
}

}  // namespace

void PpoOptions::visit_options(OptionVisitor& options) {
  visit_on_policy_options(options);
  options.integer("epochs", epochs, between(1, 10000), "passes over a rollout");
  options.number("clip_range", clip_range, above(0),
                 "largest deviation of the probability ratio from 1 that is rewarded");
  options.number("value_clip_range", value_clip_range, above(0),
                 "largest change of a value during one rollout; none disables clipping");
  options.number("value_weight", value_weight, at_least(0), "weight of the value loss");
  options.number("entropy_weight", entropy_weight, at_least(0), "weight of the entropy bonus");
  options.number("max_gradient_norm", max_gradient_norm, above(0),
                 "norm to which the gradient of all parameters is clipped");
  options.number(
      "target_kl", target_kl, above(0),
      "stop using a rollout once the KL divergence exceeds 1.5 times this; none disables this");
}

void PpoOptions::check() const {
  if (batch_size > 1 && rollout.steps % batch_size == 0) return;
  throw Error(ErrorKind::config, {"", 0, "batch_size"},
              "does not divide the rollout (expected at least 2 and a divisor of rollout_steps " +
                  std::to_string(rollout.steps) + ", got " + std::to_string(batch_size) + ")");
}

std::vector<PhaseSpec> PpoOptions::phases(int64_t total_timesteps) const {
  auto used = rollout;
  used.epochs = epochs;
  used.minibatches = rollout.steps / std::max<int64_t>(1, batch_size);
  return rollout_phases(used, total_timesteps);
}

torch::Tensor clipped_objective(const torch::Tensor& log_ratio, const torch::Tensor& advantages,
                                double clip_range) {
  const auto ratio = log_ratio.exp();
  return -torch::min(advantages * ratio,
                     advantages * ratio.clamp(1.0 - clip_range, 1.0 + clip_range));
}

torch::Tensor clipped_value_loss(const torch::Tensor& values, const torch::Tensor& old_values,
                                 const torch::Tensor& returns, std::optional<double> clip_range) {
  const auto errors = (values - returns).square();
  if (!clip_range) return errors.mean();
  const auto held = old_values + (values - old_values).clamp(-*clip_range, *clip_range);
  return torch::max(errors, (held - returns).square()).mean();
}

torch::Tensor approximate_kl(const torch::Tensor& log_ratio) {
  return (log_ratio.expm1() - log_ratio).mean();
}

// rho = pi(a|s) / pi_old(a|s);  R = A + V_old;  B = A standardised over the rows
// L = mean -min(B rho, B clip(rho, 1 +- e)) + value_weight mean (V - R)^2 - entropy_weight H
// with e = clip_range and the policy's entropy H. With value_clip_range, the value loss is clipped
// as in clipped_value_loss.
PpoLoss ppo_loss(const OnPolicyNetworks& networks, const Batch& batch, const PpoOptions& options) {
  const auto policy = networks.distribution(batch.obs());
  const auto log_ratio = policy.log_prob(batch.actions()) - batch.log_probs();
  PpoLoss result;
  result.policy_loss =
      clipped_objective(log_ratio, standardized(batch.advantages()), options.clip_range).mean();
  result.value_loss =
      clipped_value_loss(networks.values(batch.obs()), batch.values(),
                         batch.advantages() + batch.values(), options.value_clip_range);
  result.entropy = policy.entropy();
  result.loss = result.policy_loss + options.value_weight * result.value_loss -
                options.entropy_weight * result.entropy;
  const torch::NoGradGuard no_grad;
  result.approx_kl = approximate_kl(log_ratio);
  result.clip_fraction = log_ratio.expm1().abs().gt(options.clip_range).to(torch::kFloat).mean();
  return result;
}

Ppo::Ppo(const PpoOptions& options, const AlgorithmContext& context)
    : OnPolicyAlgorithm(options, context),
      options_(options),
      optimizer_(all_parameters(networks_),
                 {.learning_rate = options.learning_rate,
                  .eps = kAdamEpsilon,
                  .max_gradient_norm = options.max_gradient_norm},
                 context.compute) {}

Metrics Ppo::update(const Batch& batch, double lr_scale) {
  const auto loss = ppo_loss(networks_, batch, options_);
  used_up_ = options_.target_kl && number(loss.approx_kl) > kKlSlack * *options_.target_kl;
  if (!used_up_) minimize(loss.loss, optimizer_, lr_scale);
  return metrics_of(loss);
}

void Ppo::visit_state(StateVisitor& state) {
  OnPolicyAlgorithm::visit_state(state);
  state.part("optimizer", optimizer_);
}

AlgorithmInfoOf<Ppo, PpoOptions> ppo_info() {
  return algorithm_info<Ppo, PpoOptions>({.name = PpoOptions::kName,
                                          .title = "PPO: proximal policy optimisation",
                                          .paper = "arXiv:1707.06347",
                                          .actions = ActionKind::either,
                                          .metrics = metric_names_of<PpoLoss>()});
}

}  // namespace rl_training
