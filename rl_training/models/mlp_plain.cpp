#include "rl_training/models/mlp.h"

namespace rl_training {
namespace {

torch::Tensor apply_activation(Activation activation, const torch::Tensor& x) {
  switch (activation) {
    case Activation::relu:
      return torch::relu(x);
    case Activation::tanh:
      return torch::tanh(x);
    case Activation::gelu:
      return torch::gelu(x, "tanh");
    case Activation::elu:
      return torch::elu(x);
    case Activation::none:
      break;
  }
  return x;
}

PolicyGraph::Value apply_activation(Activation activation, PolicyGraph& graph,
                                    PolicyGraph::Value x) {
  switch (activation) {
    case Activation::relu:
      return graph.relu(x);
    case Activation::tanh:
      return graph.tanh(x);
    case Activation::gelu: {
      constexpr double kScale = 0.7978845608028654;  // sqrt(2 / pi)
      const auto cubic = graph.scale(graph.multiply(x, x), kScale * 0.044715, kScale);
      const auto tanh = graph.tanh(graph.multiply(x, cubic));
      return graph.multiply(x, graph.scale(tanh, 0.5, 0.5));
    }
    case Activation::elu: {  // relu(x) + exp(-relu(-x)) - 1
      const auto below = graph.scale(graph.relu(graph.scale(x, -1.0, 0.0)), -1.0, 0.0);
      return graph.add(graph.relu(x), graph.scale(graph.exp(below), 1.0, -1.0));
    }
    case Activation::none:
      break;
  }
  return x;
}

}  // namespace

torch::Tensor Mlp::forward_plain(const torch::Tensor& x, const torch::Tensor& side,
                                 const Pass& pass) const {
  const int64_t members = pass.members == 0 ? spec().members : pass.members;
  const auto parameters = (pass.use == Use::train ? parameters_ : parameters_.detach())
                              .view({spec().members, layout().size})
                              .narrow(0, 0, members);
  const auto part = [&](int64_t offset, int64_t rows, int64_t columns) {
    return parameters.narrow(1, offset, rows * columns).reshape({members, rows, columns});
  };
  const auto joined = side.defined() ? torch::cat(std::vector<torch::Tensor>{x, side}, 1) : x;
  auto value = joined.unsqueeze(0).expand({members, joined.size(0), joined.size(1)});
  for (size_t i = 0; i < layout().layers.size(); ++i) {
    const auto& layer = layout().layers[i];
    const bool last = i + 1 == layout().layers.size();
    value = torch::baddbmm(part(layer.bias, 1, layer.outputs), value,
                           part(layer.weight, layer.inputs, layer.outputs));
    const auto normalise = [&](const torch::Tensor& z) {
      const auto centred = z - z.mean(-1, true);
      const auto variance = centred.square().mean(-1, true);
      const auto normalised = centred * torch::rsqrt(variance + spec().layer_norm_eps);
      return normalised * part(layer.gain, 1, layer.outputs) + part(layer.shift, 1, layer.outputs);
    };
    if (!last && spec().layer_norm == LayerNorm::before_activation) value = normalise(value);
    value = apply_activation(last ? spec().output_activation : spec().activation, value);
    if (!last && spec().layer_norm == LayerNorm::after_activation) value = normalise(value);
  }
  return pass.shape.empty() ? value : value.reshape(pass.shape);
}

PolicyGraph::Value Mlp::describe(PolicyGraph& graph, PolicyGraph::Value x) const {
  for (size_t i = 0; i < layout().layers.size(); ++i) {
    const auto& layer = layout().layers[i];
    const auto part = [&](int64_t offset, int64_t count) {
      return copy_values(parameters_, offset, count);
    };
    const auto normalise = [&](PolicyGraph::Value z) {
      return graph.layer_norm(z, part(layer.gain, layer.outputs), part(layer.shift, layer.outputs),
                              spec().layer_norm_eps);
    };
    const bool last = i + 1 == layout().layers.size();
    x = graph.dense(x, part(layer.weight, layer.inputs * layer.outputs),
                    part(layer.bias, layer.outputs));
    if (!last && spec().layer_norm == LayerNorm::before_activation) x = normalise(x);
    x = apply_activation(last ? spec().output_activation : spec().activation, graph, x);
    if (!last && spec().layer_norm == LayerNorm::after_activation) x = normalise(x);
  }
  return x;
}

}  // namespace rl_training
