#include "rl_training/models/gaussian.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <cmath>

#include "rl_training/models/backward_node.h"
#include "rl_training/models/compute.h"
#include "rl_training/models/float_buffer.h"
#include "rl_training/models/kernels.h"
#include "rl_training/models/tensor_memory.h"

namespace rl_training {

namespace autograd = torch::autograd;

namespace {

constexpr float kHalfLogTwoPi = 0.918938533f;

// Temporary memory of this thread, valid until the next call.
float* scratch(int64_t count) {
  thread_local FloatBuffer buffer;
  return buffer.reserve(count);
}

// Access to the values of a head by row and action dimension.
struct HeadView {
  explicit HeadView(const GaussianHead& head)
      : action_dim(head.action_dim()),
        row_stride(head.output.size(1)),
        free(head.free_log_std.defined()),
        mean(head.output.data_ptr<float>()),
        log_std(free ? head.free_log_std.data_ptr<float>() : mean + action_dim),
        low(static_cast<float>(head.log_std_min)),
        high(static_cast<float>(head.log_std_max)),
        squash(head.squash) {}

  float mean_at(int64_t row, int64_t j) const { return mean[row * row_stride + j]; }
  float raw_log_std_at(int64_t row, int64_t j) const {
    return free ? log_std[j] : log_std[row * row_stride + j];
  }
  float log_std_at(int64_t row, int64_t j) const {
    return std::min(std::max(raw_log_std_at(row, j), low), high);
  }
  // out[rows, action_dim] = exp(factor * log std).
  void exp_log_std(int64_t rows, float factor, float* out) const {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < action_dim; ++j) out[i * action_dim + j] = factor * log_std_at(i, j);
    }
    kernels().exp(out, rows * action_dim, out);
  }
  bool inside(int64_t row, int64_t j) const {
    const float raw = raw_log_std_at(row, j);
    return raw >= low && raw <= high;
  }

  int64_t action_dim, row_stride;
  bool free;
  const float *mean, *log_std;
  float low, high;
  bool squash;
};

// Gradients of a head, filled row by row.
struct HeadGradient {
  explicit HeadGradient(const GaussianHead& head) : output(reused_floats(head.output.sizes())) {
    std::fill_n(output.data_ptr<float>(), output.numel(), 0.0f);
    if (head.free_log_std.defined()) free_log_std = torch::zeros_like(head.free_log_std);
    mean = output.data_ptr<float>();
    log_std = free_log_std.defined() ? free_log_std.data_ptr<float>() : mean + head.action_dim();
  }
  void add(const HeadView& head, int64_t row, int64_t j, float to_mean, float to_log_std) const {
    mean[row * head.row_stride + j] += to_mean;
    if (head.inside(row, j)) log_std[head.free ? j : row * head.row_stride + j] += to_log_std;
  }
  autograd::variable_list list() const {
    return free_log_std.defined() ? autograd::variable_list{output, free_log_std}
                                  : autograd::variable_list{output};
  }

  torch::Tensor output, free_log_std;
  float *mean, *log_std;
};

bool wants_gradient(const GaussianHead& head) {
  return torch::GradMode::is_enabled() &&
         (head.output.requires_grad() ||
          (head.free_log_std.defined() && head.free_log_std.requires_grad()));
}

// Creates a backward node whose edges lead to the head.
template <class Node, class... Args>
auto make_node(const GaussianHead& head, Args&&... args) {
  auto node = make_backward_node<Node>(head, std::forward<Args>(args)...);
  node->set_next_edges(head.free_log_std.defined()
                           ? autograd::collect_next_edges(head.output, head.free_log_std)
                           : autograd::collect_next_edges(head.output));
  return node;
}

class SampleNode : public autograd::Node {
 public:
  SampleNode(GaussianHead head, torch::Tensor noise, torch::Tensor actions, torch::Tensor std)
      : head_(std::move(head)),
        noise_(std::move(noise)),
        actions_(std::move(actions)),
        std_(std::move(std)) {}

  // "d x" is the gradient of the loss with respect to x. With u = mean + std e and the total
  // gradient g with respect to u: d mean = g, d log std = g std e - d log p. If the head is
  // squashed, g includes the terms (1 - a^2) d a and 2 a d log p.
  autograd::variable_list apply(autograd::variable_list&& gradients) override {
    const HeadView head(head_);
    const HeadGradient out(head_);
    const auto at = [](const torch::Tensor& t) {
      return t.defined() ? t.contiguous() : torch::Tensor();
    };
    const auto g_action = at(gradients[0]), g_log_prob = at(gradients[1]), g_u = at(gradients[2]);
    const float* ga = g_action.defined() ? g_action.data_ptr<float>() : nullptr;
    const float* gl = g_log_prob.defined() ? g_log_prob.data_ptr<float>() : nullptr;
    const float* gu = g_u.defined() ? g_u.data_ptr<float>() : nullptr;
    const float* e = noise_.data_ptr<float>();
    const float* a = actions_.data_ptr<float>();
    const float* std = std_.data_ptr<float>();
    const int64_t samples = noise_.size(0), each = samples / head_.output.size(0);
    for (int64_t i = 0; i < samples; ++i) {
      const float d_log_prob = gl != nullptr ? gl[i] : 0.0f;
      for (int64_t j = 0; j < head.action_dim; ++j) {
        const int64_t k = i * head.action_dim + j;
        float g = gu != nullptr ? gu[k] : 0.0f;
        if (ga != nullptr) g += head.squash ? ga[k] * (1.0f - a[k] * a[k]) : ga[k];
        if (head.squash) g += 2.0f * a[k] * d_log_prob;
        const float to_log_std = g * std[i / each * head.action_dim + j] * e[k] - d_log_prob;
        out.add(head, i / each, j, g, to_log_std);
      }
    }
    return out.list();
  }

 private:
  GaussianHead head_;
  torch::Tensor noise_, actions_, std_;
};

class LogProbNode : public autograd::Node {
 public:
  LogProbNode(GaussianHead head, torch::Tensor unbounded)
      : head_(std::move(head)), unbounded_(std::move(unbounded)) {}

  // With z = (u - mean) / std and the gradient g of the loss with respect to the log density:
  // d mean = g z / std, d log std = g (z^2 - 1), where "d x" is as in SampleNode.
  autograd::variable_list apply(autograd::variable_list&& gradients) override {
    const HeadView head(head_);
    const HeadGradient out(head_);
    const auto gradient = gradients[0].contiguous();
    const float* g = gradient.data_ptr<float>();
    const float* u = unbounded_.data_ptr<float>();
    float* inverse = scratch(unbounded_.numel());
    head.exp_log_std(unbounded_.size(0), -1.0f, inverse);
    for (int64_t i = 0; i < unbounded_.size(0); ++i) {
      for (int64_t j = 0; j < head.action_dim; ++j) {
        const int64_t k = i * head.action_dim + j;
        const float z = (u[k] - head.mean_at(i, j)) * inverse[k];
        out.add(head, i, j, g[i] * z * inverse[k], g[i] * (z * z - 1.0f));
      }
    }
    return out.list();
  }

 private:
  GaussianHead head_;
  torch::Tensor unbounded_;
};

void check_head(const GaussianHead& head) {
  TORCH_CHECK(head.output.scalar_type() == torch::kFloat && head.output.is_contiguous(),
              "a Gaussian head is a contiguous float32 tensor");
}

}  // namespace

GaussianSample gaussian_sample(const GaussianHead& head, const torch::Tensor& noise) {
  check_head(head);
  const int64_t samples = noise.size(0), rows = head.output.size(0);
  TORCH_CHECK(samples % rows == 0, "noise for ", samples, " samples of ", rows, " rows");
  const HeadView view(head);
  const bool goes_back = wants_gradient(head);
  const auto floats = goes_back ? &empty_floats : &reused_floats;
  auto actions = floats({samples, view.action_dim});
  auto unbounded = view.squash ? floats({samples, view.action_dim}) : without_graph(actions);
  auto log_prob = floats({samples});
  const int64_t dims = view.action_dim, count = samples * dims;
  float* lost = scratch(count + rows * dims);
  const auto std = goes_back ? reused_floats({rows, dims}) : torch::Tensor();
  float* spread = goes_back ? std.data_ptr<float>() : lost + count;
  view.exp_log_std(rows, 1.0f, spread);
  const float* e = noise.data_ptr<float>();
  float* u = unbounded.data_ptr<float>();
  const int64_t each = samples / rows;
  for (int64_t row = 0, k = 0; row < rows; ++row) {
    for (int64_t sample = 0; sample < each; ++sample) {
      for (int64_t j = 0; j < dims; ++j, ++k) {
        u[k] = view.mean_at(row, j) + spread[row * dims + j] * e[k];
      }
    }
  }
  if (view.squash) {
    float* a = actions.data_ptr<float>();
    std::copy(u, u + count, a);
    kernels().tanh(a, count);
    kernels().log_tanh_slope(u, count, lost);
  }
  float* density = log_prob.data_ptr<float>();
  for (int64_t row = 0, k = 0; row < rows; ++row) {
    for (int64_t sample = 0; sample < each; ++sample) {
      float sum = 0.0f;
      for (int64_t j = 0; j < dims; ++j, ++k) {
        sum += -0.5f * e[k] * e[k] - view.log_std_at(row, j) - kHalfLogTwoPi;
        if (view.squash) sum -= lost[k];
      }
      *density++ = sum;
    }
  }
  if (goes_back) {
    const auto node = make_node<SampleNode>(head, noise, without_graph(actions), std);
    autograd::set_history(actions, node);
    autograd::set_history(log_prob, node);
    autograd::set_history(unbounded, node);
  }
  return {actions, log_prob, unbounded};
}

torch::Tensor gaussian_actions(const GaussianHead& head, const torch::Tensor& noise) {
  const torch::NoGradGuard no_grad;
  auto actions = gaussian_sample(head, noise).actions;
  return head.squash ? actions : actions.clamp_(-1.0, 1.0);
}

torch::Tensor gaussian_log_prob(const GaussianHead& head, const torch::Tensor& actions) {
  check_head(head);
  const HeadView view(head);
  const int64_t rows = actions.size(0);
  const auto given = actions.contiguous();
  auto unbounded = view.squash ? empty_floats({rows, view.action_dim}) : without_graph(given);
  auto log_prob = empty_floats({rows});
  const int64_t dims = view.action_dim, count = rows * dims;
  float* inverse_std = scratch(2 * count);
  float* slope = inverse_std + count;
  view.exp_log_std(rows, -1.0f, inverse_std);
  constexpr float kLimit = static_cast<float>(kActionLimit);
  const float* a = given.data_ptr<float>();
  float* u = unbounded.data_ptr<float>();
  if (view.squash) {
    for (int64_t k = 0; k < count; ++k) {
      const float clipped = std::min(std::max(a[k], -kLimit), kLimit);
      u[k] = 0.5f * (std::log1p(clipped) - std::log1p(-clipped));
    }
    kernels().log_tanh_slope(u, count, slope);
  }
  const float* lost = view.squash ? slope : nullptr;
  float* density = log_prob.data_ptr<float>();
  for (int64_t i = 0; i < rows; ++i) {
    float sum = 0.0f;
    for (int64_t j = 0; j < dims; ++j) {
      const int64_t k = i * dims + j;
      if (lost != nullptr) sum -= lost[k];
      const float z = (u[k] - view.mean_at(i, j)) * inverse_std[k];
      sum += -0.5f * z * z - view.log_std_at(i, j) - kHalfLogTwoPi;
    }
    density[i] = sum;
  }
  if (wants_gradient(head))
    autograd::set_history(log_prob, make_node<LogProbNode>(head, unbounded));
  return log_prob;
}

}  // namespace rl_training
