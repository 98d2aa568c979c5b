#include "rl_training/models/mlp.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <array>

#include "rl_training/models/backward_node.h"
#include "rl_training/models/kernels.h"
#include "rl_training/models/tensor_memory.h"
#include "rl_training/util/copy_entry.h"

namespace rl_training {

namespace autograd = torch::autograd;

struct Mlp::Shared {
  Shared(const MlpSpec& spec, ThreadPool* pool) : kernel(spec, pool) {}

  MlpKernel kernel;
  std::vector<std::unique_ptr<MlpWorkspace>> spare;
  torch::Tensor gradient;  // reused for parameters().grad()

  std::unique_ptr<MlpWorkspace> borrow() {
    if (spare.empty()) return std::make_unique<MlpWorkspace>();
    auto workspace = std::move(spare.back());
    spare.pop_back();
    return workspace;
  }
};

// The backward pass of a whole network. Its edges lead to the inputs only; the gradient of the
// parameters is written directly to parameters().grad().
class MlpNode : public autograd::Node {
 public:
  MlpNode(std::shared_ptr<Mlp::Shared> shared, torch::Tensor parameters, Use use, torch::Tensor x,
          int64_t side_columns, std::unique_ptr<MlpWorkspace> workspace)
      : shared_(std::move(shared)),
        parameters_(std::move(parameters)),
        version_(parameters_._version()),
        use_(use),
        x_(std::move(x)),
        side_columns_(side_columns),
        workspace_(std::move(workspace)) {}

  ~MlpNode() override {
    if (workspace_) shared_->spare.push_back(std::move(workspace_));
  }
  MlpNode(const MlpNode&) = delete;
  MlpNode& operator=(const MlpNode&) = delete;

  void keep_output(const torch::Tensor& y) { y_ = without_graph(y); }

  autograd::variable_list apply(autograd::variable_list&& gradients) override {
    TORCH_CHECK(workspace_ != nullptr, "backward through the same network output twice");
    TORCH_CHECK(parameters_._version() == version_,
                "the network was changed between its forward and backward pass");
    const auto& kernel = shared_->kernel;
    const int64_t inputs = kernel.spec().inputs;
    const auto y_gradient = gradients[0].contiguous();
    const bool wants_x = task_should_compute_output(0);
    const bool wants_side = side_columns_ > 0 && task_should_compute_output(1);

    MlpKernel::Gradients wanted;
    if (use_ == Use::train && parameters_.requires_grad()) {
      wanted.add_to_parameters = parameters_.grad().defined();
      if (!wanted.add_to_parameters) parameters_.mutable_grad() = cleared_gradient();
      wanted.parameters = parameters_.grad().data_ptr<float>();
    }
    torch::Tensor input_gradient;
    if (wants_x || wants_side) {
      const int64_t x_columns = inputs - side_columns_;
      wanted.input_first = wants_x ? 0 : x_columns;
      wanted.input_count = (wants_side ? inputs : x_columns) - wanted.input_first;
      input_gradient = reused_floats({workspace_->rows, wanted.input_count});
      wanted.input = input_gradient.data_ptr<float>();
    }
    kernel.backward(parameters_.data_ptr<float>(), x_pointer(),
                    y_.defined() ? y_.data_ptr<float>() : nullptr, y_gradient.data_ptr<float>(),
                    *workspace_, wanted);
    shared_->spare.push_back(std::move(workspace_));

    autograd::variable_list result(side_columns_ > 0 ? 2 : 1);
    if (wants_x && wants_side) {
      result[0] = input_gradient.narrow(1, 0, inputs - side_columns_);
      result[1] = input_gradient.narrow(1, inputs - side_columns_, side_columns_);
    } else if (wants_x || wants_side) {
      result[wants_x ? 0 : 1] = std::move(input_gradient);
    }
    return result;
  }

 private:
  const float* x_pointer() const {
    return side_columns_ > 0 ? workspace_->joined_input.data() : x_.data_ptr<float>();
  }

  // Zeroes the gradient of the members that the pass did not use. The backward pass overwrites the
  // gradient of the other members.
  const torch::Tensor& cleared_gradient() {
    if (!shared_->gradient.defined()) shared_->gradient = torch::zeros_like(parameters_);
    const int64_t used = workspace_->members * shared_->kernel.layout().size;
    if (used < parameters_.numel())
      shared_->gradient.narrow(0, used, parameters_.numel() - used).zero_();
    return shared_->gradient;
  }

  std::shared_ptr<Mlp::Shared> shared_;
  torch::Tensor parameters_;
  uint32_t version_;
  Use use_;
  torch::Tensor x_;
  int64_t side_columns_;
  std::unique_ptr<MlpWorkspace> workspace_;
  torch::Tensor y_;
};

namespace {

torch::Tensor initial_parameters(const MlpSpec& spec, Rng& rng) {
  const MlpLayout layout(spec);
  auto parameters = empty_floats({spec.members * layout.size});
  init_parameters(spec, layout, rng,
                  {parameters.data_ptr<float>(), static_cast<size_t>(parameters.numel())});
  return parameters;
}

}  // namespace

Mlp::Mlp(const MlpSpec& spec, Rng& rng, const Compute& compute)
    : FeedForward(initial_parameters(spec, rng), compute),
      shared_(std::make_shared<Shared>(spec, compute.pool)) {}

Mlp::Mlp(const Mlp& other)
    : FeedForward(other), shared_(std::make_shared<Shared>(other.spec(), other.pool_)) {}

const MlpSpec& Mlp::spec() const { return shared_->kernel.spec(); }
const MlpLayout& Mlp::layout() const { return shared_->kernel.layout(); }

namespace {

// Copies rows of `columns` values to places that are `to_row` values apart.
void copy_columns(const float* from, int64_t rows, int64_t columns, float* to, int64_t to_row) {
  const auto bytes = columns * static_cast<int64_t>(sizeof(float));
  for (int64_t i = 0; i < rows; ++i) {
    copy_entry(reinterpret_cast<const unsigned char*>(from + i * columns), bytes,
               reinterpret_cast<unsigned char*>(to + i * to_row));
  }
}

// The concatenation (x, side) in the workspace, or x itself if there is no `side`.
const float* join_inputs(const torch::Tensor& x, const torch::Tensor& side,
                         MlpWorkspace& workspace) {
  const float* left = x.data_ptr<float>();
  if (!side.defined()) return left;
  const auto plain_side = side.contiguous();
  const float* right = plain_side.data_ptr<float>();
  const int64_t rows = x.size(0), left_columns = x.size(1), right_columns = side.size(1);
  const int64_t both = left_columns + right_columns;
  float* joined = workspace.joined_input.reserve(rows * both);
  copy_columns(left, rows, left_columns, joined, both);
  copy_columns(right, rows, right_columns, joined + left_columns, both);
  return joined;
}

}  // namespace

torch::Tensor Mlp::forward(const torch::Tensor& x, const torch::Tensor& side,
                           const Pass& pass) const {
  if (pass.twice_differentiable) return forward_plain(x, side, pass);
  const int64_t members = pass.members == 0 ? spec().members : pass.members;
  const int64_t rows = x.size(0);
  const int64_t side_columns = side.defined() ? side.size(1) : 0;
  TORCH_CHECK(x.size(1) + side_columns == spec().inputs, "network expects ", spec().inputs,
              " inputs, got ", x.size(1), " + ", side_columns);
  const auto plain_x = x.contiguous();
  auto workspace = shared_->borrow();
  const float* input = join_inputs(plain_x, side, *workspace);
  const std::array<int64_t, 3> full_shape = {members, rows, spec().outputs};
  const bool parameters_wanted = pass.use == Use::train && parameters_.requires_grad();
  const bool inputs_wanted = x.requires_grad() || (side.defined() && side.requires_grad());
  const bool goes_back = torch::GradMode::is_enabled() && (parameters_wanted || inputs_wanted);
  const auto y_shape = pass.shape.empty() ? torch::IntArrayRef(full_shape) : pass.shape;
  auto y = goes_back ? empty_floats(y_shape) : reused_floats(y_shape);
  shared_->kernel.forward(parameters_.data_ptr<float>(), input, rows, members,
                          goes_back ? workspace.get() : nullptr, y.data_ptr<float>());
  if (goes_back) {
    auto node = make_backward_node<MlpNode>(shared_, parameters_, pass.use,
                                            x.requires_grad() ? without_graph(plain_x) : plain_x,
                                            side_columns, std::move(workspace));
    node->set_next_edges(side.defined() ? autograd::collect_next_edges(x, side)
                                        : autograd::collect_next_edges(x));
    if (spec().output_activation != Activation::none) node->keep_output(y);
    autograd::set_history(y, node);
  } else {
    shared_->spare.push_back(std::move(workspace));
  }
  return y;
}

torch::Tensor Mlp::forward_member(int64_t member, const torch::Tensor& x,
                                  const torch::Tensor& side) const {
  const torch::NoGradGuard no_grad;
  const auto plain_x = x.contiguous();
  auto workspace = shared_->borrow();
  auto y = empty_floats({x.size(0), spec().outputs});
  shared_->kernel.forward(parameters_.data_ptr<float>() + member * layout().size,
                          join_inputs(plain_x, side, *workspace), x.size(0), 1, nullptr,
                          y.data_ptr<float>());
  shared_->spare.push_back(std::move(workspace));
  return y;
}

void Mlp::visit_state(StateVisitor& state) {
  const torch::NoGradGuard no_grad;
  for (int64_t member = 0; member < spec().members; ++member) {
    auto own = parameters_.narrow(0, member * layout().size, layout().size);
    for (size_t i = 0; i < layout().layers.size(); ++i) {
      const auto& layer = layout().layers[i];
      const auto name = "member" + std::to_string(member) + ".layer" + std::to_string(i);
      auto weight = own.narrow(0, layer.weight, layer.inputs * layer.outputs)
                        .view({layer.inputs, layer.outputs});
      auto bias = own.narrow(0, layer.bias, layer.outputs);
      visit_tensor(state, name + ".weight", weight);
      visit_tensor(state, name + ".bias", bias);
      if (layer.gain < 0) continue;
      auto gain = own.narrow(0, layer.gain, layer.outputs);
      auto shift = own.narrow(0, layer.shift, layer.outputs);
      visit_tensor(state, name + ".norm_gain", gain);
      visit_tensor(state, name + ".norm_shift", shift);
    }
  }
}

}  // namespace rl_training
