#include <torch/types.h>

#include <map>

#include "onnx_model.pb.h"
#include "rl_training/deploy/onnx_file.h"

namespace rl_training {
namespace {

// Evaluates a model with one torch operator per node.
class OnnxRunner {
 public:
  explicit OnnxRunner(const onnx_model::Graph& graph) {
    for (const auto& tensor : graph.initializer()) {
      const std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
      const auto type =
          tensor.data_type() == onnx_model::Tensor::INT64 ? torch::kInt64 : torch::kFloat32;
      auto& made = values_[tensor.name()] = torch::empty(shape, type);
      if (made.nbytes() != tensor.raw_data().size()) {
        throw Error(ErrorKind::data, "ONNX: the values of " + tensor.name() + " do not fit");
      }
      std::copy(tensor.raw_data().begin(), tensor.raw_data().end(),
                static_cast<char*>(made.data_ptr()));
    }
  }

  torch::Tensor run(const onnx_model::Graph& graph, const torch::Tensor& obs) {
    values_[graph.input(0).name()] = obs;
    for (const auto& node : graph.node()) values_[node.output(0)] = compute(node);
    return values_.at(graph.output(0).name());
  }

 private:
  torch::Tensor compute(const onnx_model::Node& node) const {
    const auto& op = node.op_type();
    const auto x = input(node, 0);
    if (op == "Relu") return x.relu();
    if (op == "Tanh") return x.tanh();
    if (op == "Exp") return x.exp();
    if (op == "Gemm") return torch::addmm(input(node, 2), x, input(node, 1));
    if (op == "LayerNormalization") {
      return torch::layer_norm(x, input(node, 1).sizes(), input(node, 1), input(node, 2),
                               attribute(node, "epsilon").f());
    }
    if (op == "Concat") return torch::cat({x, input(node, 1)}, attribute(node, "axis").i());
    if (op == "Slice") {
      return x.slice(number(node, 3), number(node, 1), number(node, 2));
    }
    if (op == "Shape") {
      return torch::tensor(
          x.sizes().slice(attribute(node, "start").i(), attribute(node, "end").i()), torch::kInt64);
    }
    if (op == "Expand") return expand(x, input(node, 1));
    if (op == "ArgMax") {
      return x.argmax(attribute(node, "axis").i(), attribute(node, "keepdims").i() != 0);
    }
    if (op == "GatherElements") return x.gather(attribute(node, "axis").i(), input(node, 1));
    if (op == "Unsqueeze") return x.unsqueeze(number(node, 1));
    if (op == "Squeeze") return x.squeeze(number(node, 1));
    const auto y = input(node, 1);
    if (op == "Add") return x + y;
    if (op == "Sub") return x - y;
    if (op == "Mul") return x * y;
    if (op == "Div") return x / y;
    if (op == "Max") return torch::maximum(x, y);
    if (op == "Min") return torch::minimum(x, y);
    if (op == "MatMul") return torch::matmul(x, y);
    if (op == "Greater") return x > y;
    if (op == "Where") return torch::where(x, y, input(node, 2));
    throw Error(ErrorKind::data, "ONNX: unknown operator " + op);
  }

  // Broadcasts dimensions of size 1, as ONNX specifies.
  static torch::Tensor expand(const torch::Tensor& x, const torch::Tensor& shape) {
    const auto* wanted = shape.data_ptr<int64_t>();
    std::vector<int64_t> sizes(wanted, wanted + shape.numel());
    for (int64_t back = 1; back <= x.dim(); ++back) {
      auto& size = sizes[sizes.size() - static_cast<size_t>(back)];
      if (size == 1) size = x.size(-back);
    }
    return x.expand(sizes);
  }

  const torch::Tensor& input(const onnx_model::Node& node, int which) const {
    return values_.at(node.input(which));
  }
  int64_t number(const onnx_model::Node& node, int which) const {
    return input(node, which).item<int64_t>();
  }
  static const onnx_model::Attribute& attribute(const onnx_model::Node& node, const char* name) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == name) return attribute;
    }
    throw Error(ErrorKind::data, "ONNX: " + node.op_type() + " has no " + name);
  }

  std::map<std::string, torch::Tensor> values_;
};

}  // namespace

std::vector<std::vector<double>> run_onnx(const std::string& bytes,
                                          const std::vector<std::vector<double>>& obs) {
  onnx_model::Model model;
  if (!model.ParseFromString(bytes) || model.graph().input_size() != 1) {
    throw Error(ErrorKind::data, "not an ONNX model of a policy");
  }
  const torch::NoGradGuard no_grad;
  auto input =
      torch::empty({static_cast<int64_t>(obs.size()),
                    model.graph().input(0).type().tensor_type().shape().dim(1).dim_value()});
  for (size_t row = 0; row < obs.size(); ++row) {
    std::copy(obs[row].begin(), obs[row].end(), input[static_cast<int64_t>(row)].data_ptr<float>());
  }
  OnnxRunner runner(model.graph());
  const auto actions = runner.run(model.graph(), input).to(torch::kFloat64).contiguous();
  const int64_t width = actions.numel() / actions.size(0);
  std::vector<std::vector<double>> result;
  for (int64_t row = 0; row < actions.size(0); ++row) {
    const double* first = actions.data_ptr<double>() + row * width;
    result.emplace_back(first, first + width);
  }
  return result;
}

}  // namespace rl_training
