#include "rl_training/models/scalars.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <algorithm>
#include <cmath>

#include "rl_training/models/backward_node.h"
#include "rl_training/models/compute.h"
#include "rl_training/models/tensor_memory.h"

namespace rl_training {
namespace {

namespace autograd = torch::autograd;

torch::Tensor scaled(const torch::Tensor& values, float factor) {
  auto result = reused_floats(values.sizes());
  const float* from = values.data_ptr<float>();
  float* to = result.data_ptr<float>();
  for (int64_t i = 0; i < values.numel(); ++i) to[i] = factor * from[i];
  return result;
}

// Backward node of a scalar whose gradients were already computed in the forward pass.
class KnownGradients : public autograd::Node {
 public:
  explicit KnownGradients(autograd::variable_list gradients) : gradients_(std::move(gradients)) {}

  autograd::variable_list apply(autograd::variable_list&& incoming) override {
    const float scale = number(incoming[0]);
    if (scale == 1.0f) return gradients_;
    autograd::variable_list result;
    for (const auto& gradient : gradients_) result.push_back(scaled(gradient, scale));
    return result;
  }

 private:
  autograd::variable_list gradients_;
};

}  // namespace

torch::Tensor scalar(double value) {
  auto result = reused_floats({});
  *result.data_ptr<float>() = static_cast<float>(value);
  return result;
}

float number(const torch::Tensor& value) { return *value.data_ptr<float>(); }

torch::Tensor with_gradients(double value, const autograd::variable_list& inputs,
                             autograd::variable_list gradients) {
  const bool wanted = std::any_of(inputs.begin(), inputs.end(),
                                  [](const auto& input) { return input.requires_grad(); });
  if (!wanted || !torch::GradMode::is_enabled()) return scalar(value);
  auto result = empty_floats({});
  *result.data_ptr<float>() = static_cast<float>(value);
  const auto node = make_backward_node<KnownGradients>(std::move(gradients));
  node->set_next_edges(autograd::collect_next_edges(inputs));
  autograd::set_history(result, node);
  return result;
}

torch::Tensor mean_of(const torch::Tensor& values) {
  const auto plain = values.contiguous();
  const float* v = plain.data_ptr<float>();
  const int64_t count = plain.numel();
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(v[i]);
  const double value = sum / static_cast<double>(count);
  if (!values.requires_grad() || !torch::GradMode::is_enabled()) return scalar(value);
  auto gradient = reused_floats(values.sizes());
  std::fill_n(gradient.data_ptr<float>(), count, 1.0f / static_cast<float>(count));
  return with_gradients(value, {values}, {gradient});
}

double mean_abs(const torch::Tensor& values) {
  const auto plain = values.contiguous();
  const float* v = plain.data_ptr<float>();
  double sum = 0;
  for (int64_t i = 0; i < plain.numel(); ++i) sum += static_cast<double>(std::abs(v[i]));
  return sum / static_cast<double>(plain.numel());
}

torch::Tensor weighted_sum(std::initializer_list<std::pair<double, torch::Tensor>> terms) {
  double sum = 0;
  autograd::variable_list inputs, gradients;
  for (const auto& [factor, value] : terms) {
    sum += factor * static_cast<double>(number(value));
    inputs.push_back(value);
    gradients.push_back(scalar(factor));
  }
  return with_gradients(sum, inputs, std::move(gradients));
}

}  // namespace rl_training
