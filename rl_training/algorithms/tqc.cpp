#include "rl_training/algorithms/tqc.h"

#include <cmath>

namespace rl_training {

void TqcOptions::visit_options(OptionVisitor& options) {
  SoftOptions::visit_options(options);
  options.integer("num_critics", num_critics, at_least(1), "critics in the ensemble");
  options.integer("num_quantiles", num_quantiles, at_least(1), "quantiles of each critic");
  options.integer("drop_per_critic", drop_per_critic, at_least(0),
                  "highest pooled target quantiles left out, for each critic");
}

void TqcOptions::check() const {
  SoftOptions::check();
  if (drop_per_critic < num_quantiles) return;
  throw Error(ErrorKind::config, {"", 0, "drop_per_critic"},
              "leaves nothing of the target (expected 0 to num_quantiles - 1 = " +
                  std::to_string(num_quantiles - 1) + ", got " + std::to_string(drop_per_critic) +
                  ")");
}

namespace {

MlpSpec critic_spec(const TqcOptions& options, const AlgorithmContext& context) {
  MlpSpec spec;
  spec.inputs = context.obs_dim() + context.action_dim();
  spec.outputs = options.num_quantiles;
  spec.hidden_sizes = options.hidden_sizes;
  spec.members = options.num_critics;
  return spec;
}

}  // namespace

TqcNetworks::TqcNetworks(const TqcOptions& options, const AlgorithmContext& context, Rng rng)
    : actor(context.obs_dim(), context.action_dim(), {.hidden_sizes = options.hidden_sizes}, rng,
            context.compute),
      critics(critic_spec(options, context), rng, context.compute),
      critics_target(critics) {}

// z = the lowest quantiles of all target critics at (s', a'), pooled and sorted;
// y_j = r + gamma (1 - d) (z_j - alpha log pi(a'|s'));  L = mean |tau_i - 1[y_j < q_i]| huber(y_j -
// q_i)
Loss tqc_critic_loss(const TqcNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                     const torch::Tensor& alpha, const TqcOptions& options) {
  torch::Tensor target;
  {
    const torch::NoGradGuard no_grad;
    const auto next = networks.actor.sample(batch.next_obs(), noise);
    const auto pooled = networks.critics_target.forward(batch.next_obs(), next.actions)
                            .transpose(0, 1)
                            .reshape({batch.obs().size(0), -1});
    const int64_t kept = options.num_critics * (options.num_quantiles - options.drop_per_critic);
    const auto lowest = std::get<0>(pooled.sort(1)).narrow(1, 0, kept);
    const auto value = lowest - (alpha * next.log_prob).unsqueeze(1);
    target = td_target(batch.rewards().unsqueeze(1), batch.discount().unsqueeze(1), value);
  }
  Loss result;
  result.loss = quantile_huber(networks.critics.forward(batch.obs(), batch.actions()), target);
  result.metrics.set("critic_loss", result.loss);
  result.metrics.set("target_q_mean", target.mean());
  return result;
}

// L = mean (alpha log pi(a|s) - mean over all quantiles of all critics at (s, a))
Loss tqc_actor_loss(const TqcNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                    const torch::Tensor& alpha) {
  const auto sample = networks.actor.sample(batch.obs(), noise);
  const auto q =
      networks.critics.forward(batch.obs(), sample.actions, {.use = Use::frozen}).mean(2);
  const auto [loss, entropy] = soft_actor_loss(sample.log_prob, q, alpha, Reduce::mean);
  Loss result;
  result.loss = loss;
  result.metrics.set("actor_loss", loss);
  result.metrics.set("entropy", entropy);
  return result;
}

Loss tqc_loss(const TqcNetworks& networks, const Batch& batch, const torch::Tensor& noise,
              const torch::Tensor& alpha, const TqcOptions& options) {
  const int64_t rows = batch.obs().size(0);
  auto result = tqc_critic_loss(networks, batch, noise.narrow(0, 0, rows), alpha, options);
  const auto actor = tqc_actor_loss(networks, batch, noise.narrow(0, rows, rows), alpha);
  result.loss = result.loss + actor.loss;
  result.metrics.append(actor.metrics);
  return result;
}

Tqc::Tqc(const TqcOptions& options, const AlgorithmContext& context)
    : options_(options),
      rng_(context.seed, "policy"),
      explore_rng_(context.seed, "explore/policy"),
      networks_(options, context, Rng(context.seed, "init")),
      actor_optimizer_(networks_.actor.parameters(), {.learning_rate = options.learning_rate},
                       context.compute),
      critic_optimizer_(networks_.critics, {.learning_rate = options.learning_rate},
                        context.compute),
      alpha_(
          {.initial_log = std::log(options.first_alpha()), .learning_rate = options.learning_rate},
          context.compute) {
  design_.target_entropy =
      options.target_entropy.value_or(-static_cast<double>(context.action_dim()));
}

Metrics Tqc::update(const Batch& batch, double lr_scale) {
  const auto& alpha = alpha_.value();
  auto critic = tqc_critic_loss(networks_, batch, next_noise_.normal(rng_, batch.actions().sizes()),
                                alpha, options_);
  minimize(critic.loss, critic_optimizer_, lr_scale);
  networks_.critics_target.polyak_from(networks_.critics, options_.tau);
  const auto actor =
      tqc_actor_loss(networks_, batch, noise_.normal(rng_, batch.actions().sizes()), alpha);
  minimize(actor.loss, actor_optimizer_, lr_scale);
  const auto temperature =
      soft_temperature_loss(alpha, actor.metrics.get("entropy"), options_, design_);
  if (temperature.loss.defined()) alpha_.descend(temperature.loss);
  critic.metrics.append(actor.metrics);
  critic.metrics.append(temperature.metrics);
  critic.metrics.set("alpha", alpha_.value());
  return critic.metrics;
}

torch::Tensor Tqc::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  const torch::NoGradGuard no_grad;
  if (mode == ActMode::greedy) return networks_.actor.mode(obs);
  const auto& noise =
      explore_noise_.normal(explore_rng_, {obs.size(0), networks_.actor.action_dim()});
  return networks_.actor.sample(obs, noise).actions;
}

void Tqc::visit_state(StateVisitor& state) {
  state.part("actor", networks_.actor);
  state.part("critics", networks_.critics);
  state.part("critics_target", networks_.critics_target);
  state.part("actor_optimizer", actor_optimizer_);
  state.part("critic_optimizer", critic_optimizer_);
  state.part("alpha", alpha_);
  state.part("policy_rng", rng_);
  state.part("explore_rng", explore_rng_);
}

AlgorithmInfo tqc_info() {
  return algorithm_info<Tqc, TqcOptions>({.name = TqcOptions::kName,
                                          .title = "TQC: truncated quantile critics",
                                          .paper = "arXiv:2005.04269",
                                          .metrics = soft_metrics()});
}

}  // namespace rl_training
