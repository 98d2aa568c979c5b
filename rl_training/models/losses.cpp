#include "rl_training/models/losses.h"

#include <algorithm>
#include <cmath>

#include "rl_training/models/compute.h"
#include "rl_training/models/kernels.h"
#include "rl_training/models/tensor_memory.h"

namespace rl_training {
torch::Tensor minimum(const torch::Tensor& values) {
  if (values.requires_grad() || values.dim() != 2) return values.amin(0);
  const int64_t members = values.size(0), rows = values.size(1);
  const auto plain = values.contiguous();
  const float* v = plain.data_ptr<float>();
  auto result = reused_floats({rows});
  float* least = result.data_ptr<float>();
  std::copy_n(v, rows, least);
  for (int64_t m = 1; m < members; ++m) kernels().take_minimum(least, v + m * rows, rows);
  return result;
}

torch::Tensor min_max_mix(const torch::Tensor& values, double lambda) {
  return lambda * values.amin(0) + (1.0 - lambda) * values.amax(0);
}

torch::Tensor repeat_rows(const torch::Tensor& x, int64_t n) { return x.repeat_interleave(n, 0); }

torch::Tensor td_target(const torch::Tensor& rewards, const torch::Tensor& discount,
                        const torch::Tensor& next_value) {
  const auto plain = next_value.contiguous();
  const int64_t rows = plain.size(0), columns = plain.numel() / rows;
  const float* r = rewards.data_ptr<float>();
  const float* d = discount.data_ptr<float>();
  const float* v = plain.data_ptr<float>();
  auto target = reused_floats(plain.sizes());
  float* y = target.data_ptr<float>();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = i * columns; j < (i + 1) * columns; ++j) y[j] = r[i] + d[i] * v[j];
  }
  return target;
}

torch::Tensor add_clipped_noise(const torch::Tensor& actions, const torch::Tensor& noise,
                                double scale, double bound) {
  const auto plain = actions.contiguous();
  auto result = reused_floats(plain.sizes());
  kernels().add_clipped_noise(plain.data_ptr<float>(), noise.data_ptr<float>(), plain.numel(),
                              static_cast<float>(scale), static_cast<float>(bound),
                              result.data_ptr<float>());
  return result;
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
  auto gradient = reused_floats({members, rows});
  float* g = gradient.data_ptr<float>();
  const float scale = static_cast<float>(2.0 * loss_scale) / static_cast<float>(rows);
  double sum = 0;
  for (int64_t m = 0; m < members; ++m) {
    sum += kernels().squared_error(v + m * rows, plain_target.data_ptr<float>(), rows, scale,
                                   g + m * rows);
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

torch::Tensor mean_squared_error(const torch::Tensor& x, const torch::Tensor& y) {
  const auto plain = x.contiguous(), plain_y = y.contiguous();
  const int64_t count = plain.numel();
  auto gradient = reused_floats(plain.sizes());
  const double sum =
      kernels().squared_error(plain.data_ptr<float>(), plain_y.data_ptr<float>(), count,
                              2.0f / static_cast<float>(count), gradient.data_ptr<float>());
  return with_gradients(sum / static_cast<double>(count), {x}, {gradient});
}

torch::Tensor expectile_loss(const torch::Tensor& values, const torch::Tensor& target,
                             double expectile) {
  const auto plain = values.contiguous();
  const int64_t rows = plain.numel();
  const float* v = plain.data_ptr<float>();
  const float* y = target.data_ptr<float>();
  auto gradient = reused_floats(plain.sizes());
  float* g = gradient.data_ptr<float>();
  const auto above = static_cast<float>(expectile), below = static_cast<float>(1.0 - expectile);
  const float scale = -2.0f / static_cast<float>(rows);
  double sum = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const float u = y[i] - v[i], weighted = (u > 0 ? above : below) * u;
    sum += static_cast<double>(weighted) * static_cast<double>(u);
    g[i] = scale * weighted;
  }
  return with_gradients(sum / static_cast<double>(rows), {values}, {gradient});
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

torch::Tensor exp_weights(const torch::Tensor& x, double factor, double cap) {
  const auto plain = x.contiguous();
  const float* from = plain.data_ptr<float>();
  const auto scale = static_cast<float>(factor), most = static_cast<float>(std::log(cap));
  auto weights = reused_floats(plain.sizes());
  float* w = weights.data_ptr<float>();
  for (int64_t i = 0; i < plain.numel(); ++i) {
    const float exponent = scale * from[i];
    w[i] = exponent > most ? most : exponent;
  }
  kernels().exp(w, plain.numel(), w);
  return weights;
}

torch::Tensor weighted_cloning(const torch::Tensor& weights, const torch::Tensor& log_prob) {
  const auto plain = log_prob.contiguous(), plain_weights = weights.contiguous();
  const int64_t rows = plain.numel();
  const float* l = plain.data_ptr<float>();
  const float* w = plain_weights.data_ptr<float>();
  auto gradient = reused_floats(plain.sizes());
  float* g = gradient.data_ptr<float>();
  const float each = -1.0f / static_cast<float>(rows);
  double sum = 0;
  for (int64_t i = 0; i < rows; ++i) {
    sum += static_cast<double>(w[i]) * static_cast<double>(l[i]);
    g[i] = each * w[i];
  }
  return with_gradients(-sum / static_cast<double>(rows), {log_prob}, {gradient});
}

}  // namespace rl_training
