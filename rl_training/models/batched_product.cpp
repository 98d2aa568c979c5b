#include "rl_training/models/batched_product.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <algorithm>

#include "rl_training/models/backward_node.h"
#include "rl_training/models/kernels.h"
#include "rl_training/models/product.h"

namespace rl_training {
namespace {

namespace autograd = torch::autograd;

// A unit of work computes at most this many rows of one c[i].
constexpr int64_t kProductRows = 128;

// Whether each matrix of a batch is contiguous. The matrices need not be adjacent: those of
// ensemble members, for example, are parts of one parameter tensor.
bool has_plain_matrices(const torch::Tensor& x) {
  return x.stride(2) == 1 && x.stride(1) == x.size(2);
}

torch::Tensor plain_matrices(const torch::Tensor& x) {
  return has_plain_matrices(x) ? x : x.contiguous();
}

float* matrix(const torch::Tensor& x, int64_t i) { return x.data_ptr<float>() + i * x.stride(0); }

// c[i] = op(a[i]) op(b[i]), where c is contiguous, [n, rows, columns].
void multiply_all(const torch::Tensor& a, bool transpose_a, const torch::Tensor& b,
                  bool transpose_b, const torch::Tensor& c, Product::Then then,
                  const torch::Tensor& bias, ThreadPool* pool) {
  const int64_t rows = c.size(1), columns = c.size(2);
  const int64_t pieces = (rows + kProductRows - 1) / kProductRows;
  run_tasks(pool, c.size(0) * pieces, [&](int64_t task) {
    const int64_t i = task / pieces, first = task % pieces * kProductRows;
    Product work;
    work.transpose_a = transpose_a;
    work.transpose_b = transpose_b;
    work.m = std::min(kProductRows, rows - first);
    work.n = columns;
    work.k = a.size(transpose_a ? 1 : 2);
    work.a = matrix(a, i) + (transpose_a ? first : first * a.size(2));
    work.lda = a.size(2);
    work.b = matrix(b, i);
    work.ldb = b.size(2);
    work.c = matrix(c, i) + first * columns;
    work.ldc = columns;
    work.then = then;
    if (bias.defined()) work.operand = bias.data_ptr<float>() + i * bias.stride(0);
    multiply(work);
  });
}

class BatchedProductNode : public autograd::Node {
 public:
  BatchedProductNode(BatchedProduct work, ThreadPool* pool) : work_(std::move(work)), pool_(pool) {}

  // Stores the output, whose sign masks the gradient of ReLU.
  void keep_output(const torch::Tensor& y) { y_ = without_graph(y); }

  autograd::variable_list apply(autograd::variable_list&& gradients) override {
    autograd::variable_list result(3);
    if (!gradients[0].defined()) return result;
    auto g = gradients[0].contiguous();
    if (y_.defined()) {
      g = g.clone();
      kernels().relu_backward(g.data_ptr<float>(), y_.data_ptr<float>(), g.numel());
    }
    const auto& [a, b, bias, transpose_b, relu] = work_;
    constexpr auto kNothing = Product::Then::nothing;
    if (task_should_compute_output(0)) {
      result[0] = empty_floats({g.size(0), g.size(1), a.size(2)});
      multiply_all(g, false, b, !transpose_b, result[0], kNothing, {}, pool_);
    }
    if (task_should_compute_output(1)) {
      result[1] = empty_floats(b.sizes());
      if (transpose_b) {
        multiply_all(g, true, a, false, result[1], kNothing, {}, pool_);
      } else {
        multiply_all(a, true, g, false, result[1], kNothing, {}, pool_);
      }
    }
    if (bias.defined() && task_should_compute_output(2)) {
      result[2] = torch::zeros({g.size(0), g.size(2)});
      run_tasks(pool_, g.size(0), [&](int64_t i) {
        kernels().add_columns(matrix(g, i), g.size(1), g.size(2),
                              result[2].data_ptr<float>() + i * g.size(2));
      });
    }
    return result;
  }

 private:
  BatchedProduct work_;  // detached
  ThreadPool* pool_;
  torch::Tensor y_;
};

}  // namespace

torch::Tensor batched_product(const BatchedProduct& work, ThreadPool* pool) {
  const auto &a = work.a, &b = work.b, &bias = work.bias;
  const int64_t columns = b.size(work.transpose_b ? 1 : 2);
  TORCH_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(work.transpose_b ? 2 : 1),
              "matrix sizes do not match: ", a.sizes(), " and ", b.sizes());
  TORCH_CHECK(!bias.defined() || (bias.size(1) == columns && bias.stride(1) == 1),
              "the bias has the wrong size");
  TORCH_CHECK(!work.relu || bias.defined(), "ReLU requires a bias");
  BatchedProduct plain = work;
  plain.a = without_graph(plain_matrices(a));
  plain.b = without_graph(plain_matrices(b));
  if (bias.defined()) plain.bias = without_graph(bias);
  auto y = empty_floats({a.size(0), a.size(1), columns});
  multiply_all(plain.a, false, plain.b, work.transpose_b, y,
               work.relu        ? Product::Then::add_bias_relu
               : bias.defined() ? Product::Then::add_bias
                                : Product::Then::nothing,
               plain.bias, pool);
  const bool wanted =
      a.requires_grad() || b.requires_grad() || (bias.defined() && bias.requires_grad());
  if (!wanted || !torch::GradMode::is_enabled()) return y;
  auto node = make_backward_node<BatchedProductNode>(std::move(plain), pool);
  node->set_next_edges(autograd::collect_next_edges(a, b, bias));
  if (work.relu) node->keep_output(y);
  autograd::set_history(y, node);
  return y;
}

}  // namespace rl_training
