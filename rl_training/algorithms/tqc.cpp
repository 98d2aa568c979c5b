#include "rl_training/algorithms/tqc.h"

namespace rl_training {

void TqcOptions::visit_options(OptionVisitor& options) {
  SoftOptions::visit_options(options);
  options.integer("num_critics", num_critics, at_least(1), "critics in the ensemble");
  options.integer("num_quantiles", num_quantiles, at_least(1), "quantiles of each critic");
  options.integer("drop_per_critic", drop_per_critic, at_least(0),
                  "highest pooled target quantiles dropped per critic");
}

void TqcOptions::check() const {
  SoftOptions::check();
  if (drop_per_critic < num_quantiles) return;
  throw Error(ErrorKind::config, {"", 0, "drop_per_critic"},
              "leaves no quantiles for the target (expected 0 to num_quantiles - 1 = " +
                  std::to_string(num_quantiles - 1) + ", got " + std::to_string(drop_per_critic) +
                  ")");
}

TqcNetworks::TqcNetworks(const TqcOptions& options, const AlgorithmContext& context, Rng rng)
    : GaussianNetworks({.hidden_sizes = options.hidden_sizes},
                       {.count = options.num_critics,
                        .outputs = options.num_quantiles,
                        .hidden_sizes = options.hidden_sizes},
                       context, rng) {}

// z = the quantiles of all target critics at (s', a'), pooled and sorted, without the
//     drop_per_critic * num_critics highest quantiles.
// y_j = r + gamma (1 - d) (z_j - alpha log pi(a'|s')) with a' ~ pi(s').
// L = mean |tau_i - 1[y_j < q_i]| huber(y_j - q_i) with the predicted quantile q_i of level tau_i
CriticLoss tqc_critic_loss(const TqcNetworks& networks, const Batch& batch,
                           const torch::Tensor& noise, const torch::Tensor& alpha,
                           const TqcOptions& options) {
  torch::Tensor target;
  {
    const torch::NoGradGuard no_grad;
    const auto next = networks.actor.sample(batch.next_obs(), noise);
    const auto pooled = networks.critics_target.distributions(batch.next_obs(), next.actions)
                            .transpose(0, 1)
                            .reshape({batch.rows(), -1});
    const int64_t kept = options.num_critics * (options.num_quantiles - options.drop_per_critic);
    const auto lowest = std::get<0>(pooled.sort(1)).narrow(1, 0, kept);
    const auto value = lowest - (alpha * next.log_prob).unsqueeze(1);
    target = td_target(batch.rewards(), batch.discount(), value);
  }
  return {quantile_huber(networks.critics.distributions(batch.obs(), batch.actions()), target),
          mean_of(target)};
}

// L = mean (alpha log pi(b|s) - Q(s, b))
// with b ~ pi(s). Q is the mean over all quantiles of all critics.
SoftPolicyLoss tqc_actor_loss(const TqcNetworks& networks, const Batch& batch,
                              const torch::Tensor& noise, const torch::Tensor& alpha) {
  const auto sample = networks.actor.sample(batch.obs(), noise);
  const auto q = networks.critics.distributions(batch.obs(), sample.actions, Use::frozen).mean(2);
  const auto [loss, entropy] = soft_actor_loss(sample.log_prob, q, alpha, Reduce::mean);
  return {loss, entropy};
}

Tqc::Tqc(const TqcOptions& options, const AlgorithmContext& context)
    : ActorCritic(options, context),
      temperature_(options, options.goal(-static_cast<double>(context.action_dim())),
                   options.learning_rate, context.compute) {}

Metrics Tqc::update(const Batch& batch, double lr_scale) {
  const auto& alpha = temperature_.value();
  const auto shape = batch.actions().sizes();
  const auto critic =
      tqc_critic_loss(networks_, batch, next_noise_.normal(rng_, shape), alpha, options_);
  minimize(critic.loss, critic_optimizer_, lr_scale);
  networks_.move_target(options_.tau);
  const auto actor = tqc_actor_loss(networks_, batch, noise_.normal(rng_, shape), alpha);
  minimize(actor.loss, actor_optimizer_, lr_scale);
  return metrics_of(critic, actor, temperature_.update(actor.entropy));
}

torch::Tensor Tqc::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  return explorer_.act(networks_.actor, obs, mode);
}

void Tqc::visit_state(StateVisitor& state) {
  ActorCritic::visit_state(state);
  state.part("alpha", temperature_);
}

AlgorithmInfoOf<Tqc, TqcOptions> tqc_info() {
  return algorithm_info<Tqc, TqcOptions>({.name = TqcOptions::kName,
                                          .title = "TQC: truncated quantile critics",
                                          .paper = "arXiv:2005.04269",
                                          .metrics = soft_metrics()});
}

}  // namespace rl_training
