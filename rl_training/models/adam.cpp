#include "rl_training/models/adam.h"

#include <cmath>

#include "rl_training/models/kernels.h"

namespace rl_training {

Adam::Adam(const Mlp& network, const AdamOptions& options, const Compute& compute)
    : parameters_(network.parameters()),
      first_moment_(torch::zeros_like(network.parameters().detach())),
      second_moment_(torch::zeros_like(network.parameters().detach())),
      options_(options),
      pool_(compute.pool) {}

void Adam::step(double lr_scale) {
  const torch::NoGradGuard no_grad;
  const auto gradient = parameters_.grad();
  TORCH_CHECK(gradient.defined(), "Adam::step without a backward pass");
  ++steps_;
  const double bias1 = 1.0 - std::pow(options_.beta1, static_cast<double>(steps_));
  const double bias2 = 1.0 - std::pow(options_.beta2, static_cast<double>(steps_));
  const double step_size = options_.learning_rate * lr_scale / bias1;
  if (parameters_.is_cpu()) {
    constexpr int64_t kChunk = 16384;
    const AdamStep step = {
        static_cast<float>(options_.beta1), static_cast<float>(options_.beta2),
        static_cast<float>(options_.eps),   static_cast<float>(options_.weight_decay),
        static_cast<float>(step_size),      static_cast<float>(1.0 / std::sqrt(bias2))};
    const int64_t count = parameters_.numel();
    float* p = parameters_.data_ptr<float>();
    float* m = first_moment_.data_ptr<float>();
    float* v = second_moment_.data_ptr<float>();
    const float* g = gradient.data_ptr<float>();
    run_tasks(pool_, (count + kChunk - 1) / kChunk, [&](int64_t task) {
      const int64_t at = task * kChunk;
      kernels().adam(p + at, m + at, v + at, g + at, std::min(kChunk, count - at), step);
    });
    parameters_.unsafeGetTensorImpl()->bump_version();
  } else {
    const auto decayed = gradient + options_.weight_decay * parameters_;
    first_moment_.mul_(options_.beta1).add_(decayed, 1.0 - options_.beta1);
    second_moment_.mul_(options_.beta2).addcmul_(decayed, decayed, 1.0 - options_.beta2);
    const auto root = second_moment_.sqrt().div_(std::sqrt(bias2)).add_(options_.eps);
    parameters_.addcdiv_(first_moment_, root, -step_size);
  }
  parameters_.mutable_grad() = torch::Tensor();
}

void Adam::visit_state(StateVisitor& state) {
  visit_tensor(state, "first_moment", first_moment_);
  visit_tensor(state, "second_moment", second_moment_);
  state.scalar("steps", steps_);
}

torch::Tensor gradient_norm(const Mlp& network) {
  const auto gradient = network.parameters().grad();
  TORCH_CHECK(gradient.defined(), "gradient_norm without a backward pass");
  return gradient.norm();
}

void minimize(const torch::Tensor& loss, Adam& optimizer, double lr_scale) {
  loss.backward();
  optimizer.step(lr_scale);
}

}  // namespace rl_training
