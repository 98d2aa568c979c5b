#include <cmath>
#include <numbers>

#include "rl_training/models/gaussian.h"

namespace rl_training {
namespace {

torch::Tensor clamped_log_std(const GaussianHead& head) {
  const auto raw = head.free_log_std.defined()
                       ? head.free_log_std.expand_as(head.output)
                       : head.output.narrow(1, head.action_dim(), head.action_dim());
  return raw.clamp(head.log_std_min, head.log_std_max);
}

torch::Tensor log_density(const torch::Tensor& z, const torch::Tensor& log_std,
                          const torch::Tensor& u, bool squash) {
  auto terms = -0.5 * z.square() - log_std - 0.5 * std::log(2.0 * std::numbers::pi);
  if (squash) terms = terms - 2.0 * (std::log(2.0) - u - torch::softplus(-2.0 * u));
  return terms.sum(1);
}

}  // namespace

GaussianSample gaussian_sample_plain(const GaussianHead& head, const torch::Tensor& noise) {
  const int64_t each = noise.size(0) / head.output.size(0);
  const auto mean = head.mean().repeat_interleave(each, 0);
  const auto log_std = clamped_log_std(head).repeat_interleave(each, 0);
  const auto u = mean + log_std.exp() * noise;
  return {head.squash ? u.tanh() : u, log_density(noise, log_std, u, head.squash), u};
}

torch::Tensor gaussian_log_prob_plain(const GaussianHead& head, const torch::Tensor& actions) {
  auto u = actions;
  if (head.squash) {
    const auto clipped = actions.clamp(-kActionLimit, kActionLimit);
    u = 0.5 * (clipped.log1p() - (-clipped).log1p());
  }
  const auto log_std = clamped_log_std(head);
  return log_density((u - head.mean()) * (-log_std).exp(), log_std, u, head.squash);
}

}  // namespace rl_training
