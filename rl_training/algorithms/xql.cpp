#include "rl_training/algorithms/xql.h"

#include "rl_training/models/losses.h"

namespace rl_training {
namespace {

constexpr double kHuberDelta = 20.0, kActionNoiseBound = 0.5;  // as in the authors' code

}  // namespace

void XqlOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.number(
      "gumbel_temperature", gumbel_temperature, above(0),
      "temperature of the soft maximum of Q that the value estimates; smaller is greedier");
  options.number("gumbel_clip", gumbel_clip, above(0),
                 "largest exponent (Q - V) / gumbel_temperature in the value's loss");
  options.number("value_action_noise", value_action_noise, at_least(0),
                 "standard deviation of the noise added to actions in the value's loss");
  visit_weight_options(options);
  log_std.visit_options(options);
}

// z = min((Q - V(s)) / temperature, clip);  L = mean (exp(z) - z - 1) exp(-max(max z, -1))
// with Q = target_q
IqlValueLoss xql_value_loss(const IqlNetworks& networks, const Batch& batch,
                            const torch::Tensor& target_q, const XqlOptions& options) {
  const auto value = networks.values(batch.obs());
  return {gumbel_loss(target_q - value, options.gumbel_temperature, options.gumbel_clip),
          value.detach().mean()};
}

// y = r + gamma (1 - d) V(s');  L = sum_i mean huber(Q_i(s, a) - y) with delta = kHuberDelta
CriticLoss xql_critic_loss(const IqlNetworks& networks, const Batch& batch) {
  const auto target = iql_target(networks, batch);
  return {huber_error(networks.critics.values(batch.obs(), batch.actions()), target, kHuberDelta),
          mean_of(target)};
}

IqlValueLoss Xql::value_loss(const Batch& batch, const torch::Tensor& target_q) {
  if (options_.value_action_noise == 0) {
    return xql_value_loss(networks(), batch, target_q, options_);
  }
  torch::Tensor noisy_q;
  {
    const torch::NoGradGuard no_grad;
    const auto actions =
        add_clipped_noise(batch.actions(), noise_.normal(rng_, batch.actions().sizes()),
                          options_.value_action_noise, kActionNoiseBound);
    noisy_q = minimum(networks().critics_target.values(batch.obs(), actions));
  }
  return xql_value_loss(networks(), batch, noisy_q, options_);
}

void Xql::visit_state(StateVisitor& state) {
  ImplicitQ::visit_state(state);
  state.part("policy_rng", rng_);
}

AlgorithmInfoOf<Xql, XqlOptions> xql_info() {
  return algorithm_info<Xql, XqlOptions>(
      {.name = XqlOptions::kName,
       .title = "XQL: extreme Q-learning, a soft maximum over dataset actions",
       .paper = "arXiv:2301.02328",
       .online_data_share = std::nullopt,
       .metrics = implicit_metrics()});
}

}  // namespace rl_training
