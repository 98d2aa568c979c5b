#include "rl_training/models/losses.h"

#include <cmath>

namespace rl_training {

torch::Tensor minimum(const torch::Tensor& values) { return values.amin(0); }

torch::Tensor min_max_mix(const torch::Tensor& values, double lambda) {
  return lambda * values.amin(0) + (1.0 - lambda) * values.amax(0);
}

torch::Tensor repeat_rows(const torch::Tensor& x, int64_t n) { return x.repeat_interleave(n, 0); }

torch::Tensor td_target(const torch::Tensor& rewards, const torch::Tensor& terminated,
                        const torch::Tensor& next_value, double gamma) {
  const torch::NoGradGuard no_grad;
  return torch::addcmul(rewards, 1.0 - terminated, next_value, gamma);
}

torch::Tensor squared_error(const torch::Tensor& values, const torch::Tensor& target) {
  return (values - target).square().sum() / static_cast<double>(target.numel());
}

torch::Tensor expectile_loss(const torch::Tensor& difference, double expectile) {
  const auto weights = difference.detach().gt(0).to(torch::kFloat);
  weights.mul_(2.0 * expectile - 1.0).add_(1.0 - expectile);
  return torch::dot(weights, difference.square()) / static_cast<double>(difference.numel());
}

torch::Tensor exp_weights(const torch::Tensor& exponent, double cap) {
  const torch::NoGradGuard no_grad;
  return exponent.clamp_max(std::log(cap)).exp_();
}

torch::Tensor weighted_cloning(const torch::Tensor& weights, const torch::Tensor& log_prob) {
  return torch::dot(weights.detach(), log_prob) / -static_cast<double>(log_prob.numel());
}

}  // namespace rl_training
