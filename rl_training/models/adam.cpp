#include "rl_training/models/adam.h"

#include <cmath>

#include "rl_training/models/backward.h"
#include "rl_training/models/kernels.h"

namespace rl_training {

Adam::Adam(const Network& network, const AdamOptions& options, const Compute& compute)
    : Adam(std::vector<torch::Tensor>{network.parameters()}, options, compute) {}

Adam::Adam(const std::vector<torch::Tensor>& leaves, const AdamOptions& options,
           const Compute& compute)
    : options_(options), pool_(compute.pool), processes_(compute.processes) {
  for (const auto& leaf : leaves) {
    leaves_.push_back({leaf, torch::zeros_like(leaf.detach()), torch::zeros_like(leaf.detach())});
  }
}

void Adam::step(double lr_scale) {
  const torch::NoGradGuard no_grad;
  ++steps_;
  const double bias1 = 1.0 - std::pow(options_.beta1, static_cast<double>(steps_));
  const double bias2 = 1.0 - std::pow(options_.beta2, static_cast<double>(steps_));
  if (options_.max_gradient_norm > 0) clip_gradients();
  for (auto& leaf : leaves_) step_leaf(leaf, options_.learning_rate * lr_scale, bias1, bias2);
}

void Adam::average_gradients() {
  if (processes_ == nullptr) return;
  gradients_.clear();
  for (const auto& leaf : leaves_) {
    const auto& gradient = leaf.parameters.grad();
    TORCH_CHECK(gradient.defined() && gradient.is_contiguous(), "no gradient to average");
    gradients_.emplace_back(gradient.data_ptr<float>(), static_cast<size_t>(gradient.numel()));
  }
  processes_->average(gradients_);
}

// Equivalent to torch.nn.utils.clip_grad_norm_.
void Adam::clip_gradients() {
  double squares = 0;
  for (const auto& leaf : leaves_) {
    const auto& gradient = leaf.parameters.grad();
    TORCH_CHECK(gradient.defined(), "Adam::step without a backward pass");
    const float* g = gradient.data_ptr<float>();
    for (int64_t i = 0; i < gradient.numel(); ++i) squares += static_cast<double>(g[i]) * g[i];
  }
  gradient_norm_ = std::sqrt(squares);
  const double scale = options_.max_gradient_norm / (gradient_norm_ + 1e-6);
  if (scale >= 1.0) return;
  for (const auto& leaf : leaves_) leaf.parameters.mutable_grad().mul_(scale);
}

void Adam::step_leaf(Leaf& leaf, double rate, double bias1, double bias2) {
  const auto gradient = leaf.parameters.grad();
  TORCH_CHECK(gradient.defined(), "Adam::step without a backward pass");
  const AdamStep step = {
      static_cast<float>(options_.beta1), static_cast<float>(options_.beta2),
      static_cast<float>(options_.eps),   static_cast<float>(1.0 - rate * options_.weight_decay),
      static_cast<float>(rate / bias1),   static_cast<float>(1.0 / std::sqrt(bias2))};
  float* p = leaf.parameters.data_ptr<float>();
  float* m = leaf.first_moment.data_ptr<float>();
  float* v = leaf.second_moment.data_ptr<float>();
  const float* g = gradient.data_ptr<float>();
  run_pieces(pool_, leaf.parameters.numel(), [&](int64_t at, int64_t count) {
    kernels().adam(p + at, m + at, v + at, g + at, count, step);
  });
  leaf.parameters.unsafeGetTensorImpl()->bump_version();
  leaf.parameters.mutable_grad() = torch::Tensor();
}

void Adam::visit_state(StateVisitor& state) {
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const auto suffix = i == 0 ? std::string() : std::to_string(i);
    visit_tensor(state, "first_moment" + suffix, leaves_[i].first_moment);
    visit_tensor(state, "second_moment" + suffix, leaves_[i].second_moment);
  }
  state.scalar("steps", steps_);
}

void apply_gradients(Adam& optimizer, double lr_scale) {
  optimizer.average_gradients();
  optimizer.step(lr_scale);
}

void minimize(const torch::Tensor& loss, Adam& optimizer, double lr_scale) {
  run_backward(loss);
  apply_gradients(optimizer, lr_scale);
}

}  // namespace rl_training
