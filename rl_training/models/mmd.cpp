#include "rl_training/models/mmd.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <cmath>

#include "rl_training/models/backward_node.h"
#include "rl_training/models/compute.h"
#include "rl_training/models/float_buffer.h"
#include "rl_training/models/kernels.h"

namespace rl_training {
namespace {

namespace autograd = torch::autograd;

constexpr double kEpsilon = 1e-6;  // added under the square root
constexpr int64_t kRowsAtOnce = 16;

// Backward node with the gradients that the forward pass computed. The value of a row depends only
// on the samples of that row. The incoming gradient of a row therefore scales only the gradients of
// the row's samples.
class MmdNode : public autograd::Node {
 public:
  MmdNode(torch::Tensor x_gradient, torch::Tensor y_gradient)
      : x_gradient_(std::move(x_gradient)), y_gradient_(std::move(y_gradient)) {}

  autograd::variable_list apply(autograd::variable_list&& gradients) override {
    const auto by_row = gradients[0].view({-1, 1, 1});
    return {task_should_compute_output(0) ? x_gradient_ * by_row : torch::Tensor(),
            task_should_compute_output(1) ? y_gradient_ * by_row : torch::Tensor()};
  }

 private:
  torch::Tensor x_gradient_, y_gradient_;
};

// The samples of kRowsAtOnce rows, with the rows in the last dimension: [n + m, A, kRowsAtOnce].
class RowBlock {
 public:
  RowBlock(int64_t n, int64_t m, int64_t dims) : n_(n), m_(m), dims_(dims) {
    points_.reserve((n + m) * dims * kRowsAtOnce);
    gradient_.reserve((n + m) * dims * kRowsAtOnce);
    float* weights = weights_.reserve(n + m);
    std::fill_n(weights, n, 1.0f / static_cast<float>(n));
    std::fill_n(weights + n, m, -1.0f / static_cast<float>(m));
  }

  void take(const float* x, const float* y, int64_t rows) {
    std::fill_n(points_.data(), (n_ + m_) * dims_ * kRowsAtOnce, 0.0f);
    for (int64_t row = 0; row < rows; ++row) {
      spread(x + row * n_ * dims_, n_ * dims_, points_.data() + row);
      spread(y + row * m_ * dims_, m_ * dims_, points_.data() + n_ * dims_ * kRowsAtOnce + row);
    }
  }

  void measure(MmdKernel kernel, double sigma) {
    kernels().squared_mmd(points_.data(), weights_.data(), n_ + m_, dims_,
                          kernel == MmdKernel::laplacian, static_cast<float>(-0.5 / sigma),
                          squared_, gradient_.data());
  }

  void give(int64_t rows, float* value, float* x_gradient, float* y_gradient) const {
    for (int64_t row = 0; row < rows; ++row) {
      // If both sets of samples are equal, rounding may make the squared value slightly negative.
      const bool negative = squared_[row] < 0.0f;
      value[row] = std::sqrt((negative ? 0.0f : squared_[row]) + static_cast<float>(kEpsilon));
      const float slope = negative ? 0.0f : 0.5f / value[row];
      const float* from = gradient_.data() + row;
      for (int64_t i = 0; i < n_ * dims_; ++i, from += kRowsAtOnce) *x_gradient++ = slope * *from;
      for (int64_t i = 0; i < m_ * dims_; ++i, from += kRowsAtOnce) *y_gradient++ = slope * *from;
    }
  }

 private:
  static void spread(const float* from, int64_t count, float* to) {
    for (int64_t i = 0; i < count; ++i) to[i * kRowsAtOnce] = from[i];
  }

  int64_t n_, m_, dims_;
  FloatBuffer points_, gradient_, weights_;
  float squared_[kRowsAtOnce] = {};
};

}  // namespace

torch::Tensor maximum_mean_discrepancy(const torch::Tensor& x, const torch::Tensor& y,
                                       MmdKernel kernel, double sigma) {
  const int64_t rows = x.size(0), n = x.size(1), m = y.size(1), dims = x.size(2);
  const auto plain_x = x.contiguous(), plain_y = y.contiguous();
  auto value = empty_floats({rows});
  const auto x_gradient = empty_floats({rows, n, dims}), y_gradient = empty_floats({rows, m, dims});
  RowBlock block(n, m, dims);
  for (int64_t first = 0; first < rows; first += kRowsAtOnce) {
    const int64_t count = std::min(kRowsAtOnce, rows - first);
    const int64_t at_x = first * n * dims, at_y = first * m * dims;
    block.take(plain_x.data_ptr<float>() + at_x, plain_y.data_ptr<float>() + at_y, count);
    block.measure(kernel, sigma);
    block.give(count, value.data_ptr<float>() + first, x_gradient.data_ptr<float>() + at_x,
               y_gradient.data_ptr<float>() + at_y);
  }
  if (torch::GradMode::is_enabled() && (x.requires_grad() || y.requires_grad())) {
    const auto node = make_backward_node<MmdNode>(x_gradient, y_gradient);
    node->set_next_edges(autograd::collect_next_edges(x, y));
    autograd::set_history(value, node);
  }
  return value;
}

// Computes w' K w with the kernel matrix K of all points of both sets and w = (1/n ..., -1/m ...).
torch::Tensor maximum_mean_discrepancy_plain(const torch::Tensor& x, const torch::Tensor& y,
                                             MmdKernel kernel, double sigma) {
  const int64_t n = x.size(1), m = y.size(1);
  const auto points = torch::cat({x, y}, 1);
  const auto difference = points.unsqueeze(2) - points.unsqueeze(1);
  const auto distance =
      (kernel == MmdKernel::laplacian ? difference.abs() : difference.square()).sum(3);
  const auto weights = torch::cat({torch::full({n}, 1.0 / static_cast<double>(n), x.options()),
                                   torch::full({m}, -1.0 / static_cast<double>(m), x.options())});
  // Uses a sum instead of matrix products with w, because BLAS would start its own threads.
  const auto pairs = weights.unsqueeze(1) * weights;
  const auto squared = ((distance * (-0.5 / sigma)).exp() * pairs).sum({1, 2});
  return (squared.clamp_min(0.0) + kEpsilon).sqrt();
}

}  // namespace rl_training
