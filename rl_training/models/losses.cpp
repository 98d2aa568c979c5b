#include "rl_training/models/losses.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <algorithm>
#include <cmath>

#include "rl_training/models/backward_node.h"
#include "rl_training/models/compute.h"
#include "rl_training/models/kernels.h"
#include "rl_training/models/tensor_memory.h"

namespace rl_training {
namespace {

namespace autograd = torch::autograd;

// Backward node of a scalar whose gradients were already computed in the forward pass.
class KnownGradients : public autograd::Node {
 public:
  explicit KnownGradients(autograd::variable_list gradients) : gradients_(std::move(gradients)) {}

  autograd::variable_list apply(autograd::variable_list&& incoming) override {
    const float scale = number(incoming[0]);
    if (scale == 1.0f) return gradients_;
    autograd::variable_list scaled;
    for (const auto& gradient : gradients_) scaled.push_back(gradient * scale);
    return scaled;
  }

 private:
  autograd::variable_list gradients_;
};

torch::Tensor with_gradients(double value, const autograd::variable_list& inputs,
                             autograd::variable_list gradients) {
  bool wanted = false;
  for (const auto& input : inputs) wanted = wanted || input.requires_grad();
  if (!wanted || !torch::GradMode::is_enabled()) return scalar(value);
  auto result = empty_floats({});
  *result.data_ptr<float>() = static_cast<float>(value);
  const auto node = make_backward_node<KnownGradients>(std::move(gradients));
  node->set_next_edges(autograd::collect_next_edges(inputs));
  autograd::set_history(result, node);
  return result;
}

}  // namespace

torch::Tensor scalar(double value) {
  auto result = reused_floats({});
  *result.data_ptr<float>() = static_cast<float>(value);
  return result;
}

float number(const torch::Tensor& value) { return *value.data_ptr<float>(); }

torch::Tensor minimum(const torch::Tensor& values) { return values.amin(0); }

torch::Tensor min_max_mix(const torch::Tensor& values, double lambda) {
  return lambda * values.amin(0) + (1.0 - lambda) * values.amax(0);
}

torch::Tensor repeat_rows(const torch::Tensor& x, int64_t n) { return x.repeat_interleave(n, 0); }

torch::Tensor td_target(const torch::Tensor& rewards, const torch::Tensor& discount,
                        const torch::Tensor& next_value) {
  const torch::NoGradGuard no_grad;
  return torch::addcmul(rewards, discount, next_value);
}

SoftTarget soft_td_target(const torch::Tensor& rewards, const torch::Tensor& discount,
                          const torch::Tensor& next_values, const torch::Tensor& next_log_prob,
                          const torch::Tensor& alpha) {
  const torch::NoGradGuard no_grad;
  const int64_t members = next_values.size(0), rows = next_values.size(1);
  auto target = reused_floats({rows});
  const auto plain = next_values.contiguous();
  const float* q = plain.data_ptr<float>();
  const float* r = rewards.data_ptr<float>();
  const float* d = discount.data_ptr<float>();
  const float* l = next_log_prob.defined() ? next_log_prob.data_ptr<float>() : nullptr;
  const float a = l != nullptr ? number(alpha) : 0.0f;
  float* y = target.data_ptr<float>();
  double sum = 0;
  for (int64_t i = 0; i < rows; ++i) {
    float least = q[i];
    for (int64_t m = 1; m < members; ++m) least = std::min(least, q[m * rows + i]);
    if (l != nullptr) least -= a * l[i];
    y[i] = r[i] + d[i] * least;
    sum += static_cast<double>(y[i]);
  }
  return {target, scalar(sum / static_cast<double>(rows))};
}

torch::Tensor squared_error(const torch::Tensor& values, const torch::Tensor& target,
                            double loss_scale) {
  const int64_t members = values.size(0), rows = values.size(1);
  const auto plain = values.contiguous(), plain_target = target.contiguous();
  const float* v = plain.data_ptr<float>();
  const float* y = plain_target.data_ptr<float>();
  auto gradient = reused_floats({members, rows});
  float* g = gradient.data_ptr<float>();
  const float scale = static_cast<float>(2.0 * loss_scale) / static_cast<float>(rows);
  double sum = 0;
  for (int64_t m = 0; m < members; ++m) {
    for (int64_t i = 0; i < rows; ++i) {
      const float error = v[m * rows + i] - y[i];
      sum += static_cast<double>(error) * static_cast<double>(error);
      g[m * rows + i] = scale * error;
    }
  }
  return with_gradients(loss_scale * sum / static_cast<double>(rows), {values}, {gradient});
}

torch::Tensor quantile_huber(const torch::Tensor& quantiles, const torch::Tensor& target) {
  const int64_t members = quantiles.size(0), rows = quantiles.size(1), n = quantiles.size(2);
  const int64_t samples = target.size(1);
  const auto plain = quantiles.contiguous(), plain_target = target.contiguous();
  const float* q = plain.data_ptr<float>();
  const float* y = plain_target.data_ptr<float>();
  auto gradient = reused_floats({members, rows, n});
  float* g = gradient.data_ptr<float>();
  const float each = 1.0f / static_cast<float>(members * rows * n * samples);
  double sum = 0;
  for (int64_t at = 0; at < members * rows * n; ++at) {
    const int64_t row = at / n % rows;
    const float level = (static_cast<float>(at % n) + 0.5f) / static_cast<float>(n);
    float slope = 0;
    sum += static_cast<double>(
        kernels().quantile_huber(q[at], level, y + row * samples, samples, &slope));
    g[at] = slope * each;
  }
  return with_gradients(sum * static_cast<double>(each), {quantiles}, {gradient});
}

SoftActorLoss soft_actor_loss(const torch::Tensor& log_prob, const torch::Tensor& values,
                              const torch::Tensor& alpha, Reduce reduce) {
  const int64_t members = values.size(0), rows = values.size(1);
  const auto plain = values.contiguous();
  const float* v = plain.data_ptr<float>();
  const float* l = log_prob.data_ptr<float>();
  const float a = number(alpha), each = 1.0f / static_cast<float>(rows);
  auto to_log_prob = reused_floats({rows});
  std::fill_n(to_log_prob.data_ptr<float>(), rows, a * each);
  auto to_values = reused_floats({members, rows});
  float* to_value = to_values.data_ptr<float>();
  std::fill_n(to_value, members * rows,
              reduce == Reduce::mean ? -each / static_cast<float>(members) : 0.0f);
  double sum = 0, log_prob_sum = 0;
  for (int64_t i = 0; i < rows; ++i) {
    int64_t least = 0;
    double total = 0;
    for (int64_t m = 0; m < members; ++m) {
      if (v[m * rows + i] < v[least * rows + i]) least = m;
      total += static_cast<double>(v[m * rows + i]);
    }
    if (reduce == Reduce::minimum) to_value[least * rows + i] = -each;
    const double q = reduce == Reduce::mean ? total / static_cast<double>(members)
                                            : static_cast<double>(v[least * rows + i]);
    sum += static_cast<double>(a) * static_cast<double>(l[i]) - q;
    log_prob_sum += static_cast<double>(l[i]);
  }
  return {
      with_gradients(sum / static_cast<double>(rows), {log_prob, values}, {to_log_prob, to_values}),
      scalar(-log_prob_sum / static_cast<double>(rows))};
}

torch::Tensor expectile_loss(const torch::Tensor& difference, double expectile) {
  const auto weights = difference.detach().gt(0).to(torch::kFloat);
  weights.mul_(2.0 * expectile - 1.0).add_(1.0 - expectile);
  return torch::dot(weights, difference.square()) / static_cast<double>(difference.numel());
}

torch::Tensor gumbel_loss(const torch::Tensor& difference, double temperature, double clip) {
  const auto z = (difference / temperature).clamp_max(clip);
  const auto largest = without_graph(z).max().clamp_min(-1.0);
  return ((z - largest).exp() - (z + 1.0) * (-largest).exp()).mean();
}

torch::Tensor huber_error(const torch::Tensor& values, const torch::Tensor& target, double delta) {
  return torch::huber_loss(values, target.expand_as(values), torch::Reduction::Mean, delta) *
         static_cast<double>(values.size(0));
}

torch::Tensor exp_weights(const torch::Tensor& exponent, double cap) {
  const torch::NoGradGuard no_grad;
  return exponent.clamp_max(std::log(cap)).exp_();
}

torch::Tensor weighted_cloning(const torch::Tensor& weights, const torch::Tensor& log_prob) {
  return torch::dot(weights.detach(), log_prob) / -static_cast<double>(log_prob.numel());
}

}  // namespace rl_training
