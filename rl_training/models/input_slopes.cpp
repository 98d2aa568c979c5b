#include "rl_training/models/input_slopes.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "rl_training/models/backward_node.h"
#include "rl_training/models/kernels.h"
#include "rl_training/models/product.h"

namespace rl_training {

namespace autograd = torch::autograd;

// Values that a pass stores for its backward pass: the activations, whose signs are the ReLU masks,
// and for each hidden layer the derivative of the output with respect to the layer's values before
// ReLU.
struct SlopePass {
  MlpWorkspace workspace;
  std::vector<FloatBuffer> slope;  // [members, rows, width] each
  std::vector<FloatBuffer> delta;  // the same shapes, for the backward pass
};

struct InputSlopes::Shared {
  Shared(const MlpSpec& spec, ThreadPool* work_pool) : kernel(spec, work_pool), pool(work_pool) {}

  const LayerLayout& layer(size_t i) const { return kernel.layout().layers[i]; }
  size_t hidden() const { return kernel.layout().layers.size() - 1; }
  // Offset of the weights of the last `columns` inputs.
  int64_t side_weight(int64_t columns) const {
    return layer(0).weight + (layer(0).inputs - columns) * layer(0).outputs;
  }
  std::unique_ptr<SlopePass> borrow() {
    if (spare.empty()) return std::make_unique<SlopePass>();
    auto pass = std::move(spare.back());
    spare.pop_back();
    return pass;
  }
  void forward(const float* parameters, int64_t member, int64_t columns, SlopePass& pass,
               float* out) const;
  void backward(const float* parameters, int64_t member, int64_t columns, const float* out_gradient,
                SlopePass& pass, float* sums) const;

  MlpKernel kernel;
  ThreadPool* pool;
  std::vector<std::unique_ptr<SlopePass>> spare;
  torch::Tensor gradient;  // reused for parameters().grad()
};

// v_L = w keep_L;  v_i = (v_{i+1} W_{i+1}') keep_i;  out = v_1 W_1'
// with the weights W_i and the ReLU mask keep_i of hidden layer i, and the weights w of the output.
// W_1 stands for its rows that belong to the last `columns` inputs.
void InputSlopes::Shared::forward(const float* parameters, int64_t member, int64_t columns,
                                  SlopePass& pass, float* out) const {
  const int64_t rows = pass.workspace.rows;
  const float* own = parameters + member * kernel.layout().size;
  const std::vector<float> ones(static_cast<size_t>(rows), 1.0f);
  const auto keep = [&](size_t i) {
    return pass.workspace.activation[i].data() + member * rows * layer(i).outputs;
  };
  const auto slope = [&](size_t i) {
    return pass.slope[i].data() + member * rows * layer(i).outputs;
  };
  const size_t last = hidden();
  if (last == 0) {
    return kernels().outer(ones.data(), own + side_weight(columns), nullptr, rows, columns, out);
  }
  kernels().outer(ones.data(), own + layer(last).weight, keep(last - 1), rows, layer(last).inputs,
                  slope(last - 1));
  for (size_t i = last - 1; i > 0; --i) {
    multiply({.transpose_b = true,
              .m = rows,
              .n = layer(i).inputs,
              .k = layer(i).outputs,
              .a = slope(i),
              .lda = layer(i).outputs,
              .b = own + layer(i).weight,
              .ldb = layer(i).outputs,
              .c = slope(i - 1),
              .ldc = layer(i).inputs,
              .then = Product::Then::keep_positive,
              .operand = keep(i - 1)});
  }
  multiply({.transpose_b = true,
            .m = rows,
            .n = columns,
            .k = layer(0).outputs,
            .a = slope(0),
            .lda = layer(0).outputs,
            .b = own + side_weight(columns),
            .ldb = layer(0).outputs,
            .c = out,
            .ldc = columns});
}

// With the gradient g at `out`:
//   dW_1 += g' v_1,  u_1 = (g W_1) keep_1
//   dW_i += u_{i-1}' v_i,  u_i = (u_{i-1} W_i) keep_i
//   dw += sum over rows of u_L
void InputSlopes::Shared::backward(const float* parameters, int64_t member, int64_t columns,
                                   const float* out_gradient, SlopePass& pass, float* sums) const {
  const int64_t rows = pass.workspace.rows;
  const float* own = parameters + member * kernel.layout().size;
  const size_t last = hidden();
  if (last == 0) {
    return kernels().add_columns(out_gradient, rows, columns, sums + side_weight(columns));
  }
  const float* above = out_gradient;  // u of the previous layer, [rows, width]
  for (size_t i = 0; i < last; ++i) {
    const int64_t width = i == 0 ? columns : layer(i).inputs;
    const int64_t weight = i == 0 ? side_weight(columns) : layer(i).weight;
    const int64_t place = member * rows * layer(i).outputs;
    multiply({.transpose_a = true,
              .m = width,
              .n = layer(i).outputs,
              .k = rows,
              .a = above,
              .lda = width,
              .b = pass.slope[i].data() + place,
              .ldb = layer(i).outputs,
              .c = sums + weight,
              .ldc = layer(i).outputs,
              .then = Product::Then::add_old});
    float* delta = pass.delta[i].data() + place;
    multiply({.m = rows,
              .n = layer(i).outputs,
              .k = width,
              .a = above,
              .lda = width,
              .b = own + weight,
              .ldb = layer(i).outputs,
              .c = delta,
              .ldc = layer(i).outputs,
              .then = Product::Then::keep_positive,
              .operand = pass.workspace.activation[i].data() + place});
    above = delta;
  }
  kernels().add_columns(above, rows, layer(last).inputs, sums + layer(last).weight);
}

// The gradient of the parameters is written directly to their grad(), as in Mlp.
class InputSlopesNode : public autograd::Node {
 public:
  InputSlopesNode(std::shared_ptr<InputSlopes::Shared> shared, torch::Tensor parameters,
                  int64_t columns, std::unique_ptr<SlopePass> pass)
      : shared_(std::move(shared)),
        parameters_(std::move(parameters)),
        version_(parameters_._version()),
        columns_(columns),
        pass_(std::move(pass)) {}

  ~InputSlopesNode() override {
    if (pass_) shared_->spare.push_back(std::move(pass_));
  }
  InputSlopesNode(const InputSlopesNode&) = delete;
  InputSlopesNode& operator=(const InputSlopesNode&) = delete;

  autograd::variable_list apply(autograd::variable_list&& gradients) override {
    TORCH_CHECK(pass_ != nullptr, "backward through the same slopes twice");
    TORCH_CHECK(parameters_._version() == version_,
                "the network was changed between its forward and backward pass");
    const auto out_gradient = gradients[0].contiguous();
    if (!parameters_.grad().defined()) {
      auto& kept = shared_->gradient;
      kept = kept.defined() ? kept.zero_() : torch::zeros_like(parameters_.detach());
      parameters_.mutable_grad() = kept;
    }
    const int64_t rows = pass_->workspace.rows;
    run_tasks(shared_->pool, pass_->workspace.members, [&](int64_t member) {
      shared_->backward(
          parameters_.data_ptr<float>(), member, columns_,
          out_gradient.data_ptr<float>() + member * rows * columns_, *pass_,
          parameters_.grad().data_ptr<float>() + member * shared_->kernel.layout().size);
    });
    shared_->spare.push_back(std::move(pass_));
    return {};
  }

 private:
  std::shared_ptr<InputSlopes::Shared> shared_;
  torch::Tensor parameters_;
  uint32_t version_;
  int64_t columns_;
  std::unique_ptr<SlopePass> pass_;
};

InputSlopes::InputSlopes(const CriticEnsemble& critics, const Compute& compute) {
  const auto& spec = dynamic_cast<const Mlp&>(critics.network()).spec();
  TORCH_CHECK(spec.outputs == 1 && spec.activation == Activation::relu &&
                  spec.output_activation == Activation::none && spec.layer_norm == LayerNorm::none,
              "input slopes need a plain ReLU network with one output");
  shared_ = std::make_shared<Shared>(spec, compute.pool);
}

torch::Tensor InputSlopes::at(const CriticEnsemble& critics, const torch::Tensor& obs,
                              const torch::Tensor& actions) const {
  const auto& parameters = critics.network().parameters();
  const int64_t rows = obs.size(0), columns = actions.size(1),
                members = critics.network().members();
  const auto input = torch::cat({obs, actions}, 1);
  const auto values = empty_floats({members, rows});
  auto pass = shared_->borrow();
  shared_->kernel.forward(parameters.data_ptr<float>(), input.data_ptr<float>(), rows, members,
                          &pass->workspace, values.data_ptr<float>());
  pass->slope.resize(shared_->hidden());
  pass->delta.resize(shared_->hidden());
  for (size_t i = 0; i < shared_->hidden(); ++i) {
    pass->slope[i].reserve(members * rows * shared_->layer(i).outputs);
    pass->delta[i].reserve(members * rows * shared_->layer(i).outputs);
  }
  auto slopes = empty_floats({members, rows, columns});
  run_tasks(shared_->pool, members, [&](int64_t member) {
    shared_->forward(parameters.data_ptr<float>(), member, columns, *pass,
                     slopes.data_ptr<float>() + member * rows * columns);
  });
  const auto node =
      make_backward_node<InputSlopesNode>(shared_, parameters, columns, std::move(pass));
  autograd::set_history(slopes, node);
  return slopes;
}

}  // namespace rl_training
