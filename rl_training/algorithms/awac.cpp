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
                 "temperature of the advantage weights; larger weights all actions more equally");
  options.number("max_weight", max_weight, above(0),
                 "largest weight of a row with weight_normalization: clip");
  options.renamed("weight_normalisation", "weight_normalization");
  options.choice(
      "weight_normalization", weight_normalization,
      {{"clip", WeightNormalization::clip}, {"softmax", WeightNormalization::softmax}},
      "exp(advantage / lambda) up to max_weight, or rows times its softmax over a batch");
  log_std.visit_options(options);
}

AwacNetworks::AwacNetworks(const AwacOptions& options, const AlgorithmContext& context, Rng rng)
    : GaussianNetworks(actor_options(options), {.hidden_sizes = options.hidden_sizes}, context,
                       rng) {}

torch::Tensor awac_weights(const torch::Tensor& advantage, const AwacOptions& options) {
  const torch::NoGradGuard no_grad;
  if (options.weight_normalization == AwacOptions::WeightNormalization::clip) {
    return exp_weights(advantage, 1.0 / options.awac_lambda, options.max_weight);
  }
  return torch::softmax(advantage / options.awac_lambda, 0) *
         static_cast<double>(advantage.numel());
}

// y = r + gamma (1 - d) min_i Q'_i(s', a'), where a' ~ pi(s') is clipped to [-1, 1].
// L = sum_i mean (Q_i(s, a) - y)^2
CriticLoss awac_critic_loss(const AwacNetworks& networks, const Batch& batch,
                            const torch::Tensor& noise) {
  torch::Tensor target;
  {
    const torch::NoGradGuard no_grad;
    const auto next_actions = gaussian_actions(networks.actor.head(batch.next_obs()), noise);
    const auto next_q = networks.critics_target.values(batch.next_obs(), next_actions);
    target = td_target(batch.rewards(), batch.discount(), minimum(next_q));
  }
  return critic_loss(networks.critics, batch, target);
}

// A = min_i Q_i(s, a) - min_i Q_i(s, b), where b ~ pi(s) is clipped to [-1, 1].
// w = min(exp(A / lambda), max_weight) for `weight_normalization: clip`.
// w = rows * softmax(A / lambda) for `weight_normalization: softmax`.
// L = -mean w log pi(a | s), without gradient through w
WeightedCloningLoss awac_actor_loss(const AwacNetworks& networks, const Batch& batch,
                                    const torch::Tensor& noise, const AwacOptions& options) {
  const auto head = networks.actor.head(batch.obs());
  torch::Tensor advantage;
  {
    const torch::NoGradGuard no_grad;
    const auto own_actions = gaussian_actions(head, noise);
    advantage = minimum(networks.critics.values(batch.obs(), batch.actions()))
                    .sub_(minimum(networks.critics.values(batch.obs(), own_actions)));
  }
  const auto weights = awac_weights(advantage, options);
  return {weighted_cloning(weights, gaussian_log_prob(head, batch.actions())), mean_of(advantage),
          mean_of(weights)};
}

Metrics Awac::update(const Batch& batch, double lr_scale) {
  const auto shape = batch.actions().sizes();
  const auto critic = awac_critic_loss(networks_, batch, noise_.normal(rng_, shape));
  minimize(critic.loss, critic_optimizer_, lr_scale);
  const auto actor = awac_actor_loss(networks_, batch, noise_.normal(rng_, shape), options_);
  minimize(actor.loss, actor_optimizer_, lr_scale);
  networks_.move_target(options_.tau);
  return metrics_of(critic, actor);
}

torch::Tensor Awac::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  return explorer_.act(networks_.actor, obs, mode);
}

AlgorithmInfoOf<Awac, AwacOptions> awac_info() {
  return algorithm_info<Awac, AwacOptions>(
      {.name = AwacOptions::kName,
       .title = "AWAC: actor-critic with advantage-weighted cloning",
       .paper = "arXiv:2006.09359",
       .online_data_share = std::nullopt,
       .metrics = metric_names_of<CriticLoss, WeightedCloningLoss>()});
}

}  // namespace rl_training
