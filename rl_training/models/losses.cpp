#include "rl_training/models/losses.h"

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

}  // namespace rl_training
