#include "rl_training/models/renorm_mlp.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "rl_training/models/batched_product.h"

namespace rl_training {

std::vector<RenormMlp::Layer> RenormMlp::layers_of(const RenormMlpSpec& spec) {
  std::vector<Layer> layers;
  int64_t inputs = spec.inputs, feature = 0;
  const auto add = [&](int64_t outputs) {
    layers.push_back({inputs, outputs, feature});
    feature += inputs;
    inputs = outputs;
  };
  for (const int64_t width : spec.hidden_sizes) add(width);
  add(spec.outputs);
  return layers;
}

// For each layer of each member: gain 1, shift 0, weight, bias.
torch::Tensor RenormMlp::initial_parameters(const RenormMlpSpec& spec, Rng& rng) {
  const auto layers = layers_of(spec);
  int64_t size = 0;
  for (const Layer& layer : layers) size += layer.size();
  auto parameters = empty_floats({spec.members * size});
  auto* at = parameters.data_ptr<float>();
  for (int64_t member = 0; member < spec.members; ++member) {
    for (const Layer& layer : layers) {
      at = std::fill_n(at, layer.inputs, 1.0f);
      at = std::fill_n(at, layer.inputs, 0.0f);
      LayerLayout place;
      place.inputs = layer.inputs;
      place.outputs = layer.outputs;
      place.bias = layer.inputs * layer.outputs;
      init_layer(spec.init, place, rng, at);
      at += place.bias + layer.outputs;
    }
  }
  return parameters;
}

RenormMlp::RenormMlp(const RenormMlpSpec& spec, Rng& rng, const Compute& compute)
    : FeedForward(initial_parameters(spec, rng), compute),
      spec_(spec),
      layers_(layers_of(spec)),
      statistics_(std::make_unique<Statistics>()) {
  const int64_t features = layers_.back().feature + layers_.back().inputs;
  statistics_->mean = torch::zeros({spec.members, features});
  statistics_->var = torch::ones({spec.members, features});
}

RenormMlp::RenormMlp(const RenormMlp& other)
    : FeedForward(other),
      spec_(other.spec_),
      layers_(other.layers_),
      statistics_(std::make_unique<Statistics>(*other.statistics_)) {
  statistics_->mean = statistics_->mean.clone();
  statistics_->var = statistics_->var.clone();
}

torch::Tensor RenormMlp::forward_members(int64_t first, int64_t count, const torch::Tensor& x,
                                         const torch::Tensor& side, const Pass& pass) const {
  const auto joined = side.defined() ? torch::cat(std::vector<torch::Tensor>{x, side}, 1) : x;
  TORCH_CHECK(joined.size(1) == spec_.inputs, "network expects ", spec_.inputs, " inputs, got ",
              joined.size(1));
  // One autograd node splits the parameters into all parts, so that their gradients are
  // concatenated only once.
  std::vector<int64_t> sizes;
  for (const Layer& layer : layers_) {
    sizes.insert(sizes.end(),
                 {layer.inputs, layer.inputs, layer.inputs * layer.outputs, layer.outputs});
  }
  auto members =
      (pass.use == Use::train ? parameters_ : parameters_.detach()).view({spec_.members, -1});
  if (count < spec_.members) members = members.narrow(0, first, count);
  const auto parts = members.split_with_sizes(sizes, 1);
  const bool warm = statistics_->passes >= spec_.renorm.warmup_steps;
  auto value = joined.unsqueeze(0).expand({count, joined.size(0), joined.size(1)});
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const bool last = i + 1 == layers_.size();
    const auto features = [&](const torch::Tensor& all) {
      return all.narrow(0, first, count).narrow(1, layer.feature, layer.inputs);
    };
    const BatchRenorm renorm = {value,
                                parts[4 * i],
                                parts[4 * i + 1],
                                features(statistics_->mean),
                                features(statistics_->var),
                                pass.mode,
                                warm};
    const auto weight = parts[4 * i + 2].view({count, layer.inputs, layer.outputs});
    const auto& bias = parts[4 * i + 3];
    if (pass.twice_differentiable) {
      value = torch::baddbmm(bias.unsqueeze(1), batch_renorm_plain(renorm, spec_.renorm), weight);
      if (!last) value = value.relu();
    } else {
      value = batched_product({.a = batch_renorm(renorm, spec_.renorm, pool_),
                               .b = weight,
                               .bias = bias,
                               .relu = !last},
                              pool_);
    }
  }
  if (pass.mode == Mode::train) {
    ++statistics_->passes;
    average_statistics();
  }
  return pass.shape.empty() ? value : value.view(pass.shape);
}

// Averages the running statistics over processes, because each process updated them with its own
// part of the batch.
void RenormMlp::average_statistics() const {
  if (processes_ == nullptr) return;
  const auto values = [](const torch::Tensor& tensor) {
    return std::span<float>(tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel()));
  };
  processes_->average(std::array{values(statistics_->mean), values(statistics_->var)});
}

torch::Tensor RenormMlp::forward(const torch::Tensor& x, const torch::Tensor& side,
                                 const Pass& pass) const {
  return forward_members(0, pass.members == 0 ? spec_.members : pass.members, x, side, pass);
}

torch::Tensor RenormMlp::forward_member(int64_t member, const torch::Tensor& x,
                                        const torch::Tensor& side) const {
  const torch::NoGradGuard no_grad;
  return forward_members(member, 1, x, side, {}).squeeze(0);
}

// Each renormalisation is folded into the weights W and the bias b of the linear layer after it:
// W' = diag(f) W and b' = b + h W, with f = gain / sqrt(var + eps) and h = shift - f mean.
PolicyGraph::Value RenormMlp::describe(PolicyGraph& graph, PolicyGraph::Value x) const {
  int64_t at = 0;
  const auto take = [&](int64_t count) {
    at += count;
    return copy_values(parameters_, at - count, count);
  };
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const auto gain = take(layer.inputs), shift = take(layer.inputs);
    auto weight = take(layer.inputs * layer.outputs), bias = take(layer.outputs);
    const auto mean = copy_values(statistics_->mean, layer.feature, layer.inputs);
    const auto var = copy_values(statistics_->var, layer.feature, layer.inputs);
    std::vector<double> moved(bias.begin(), bias.end());
    for (int64_t in = 0; in < layer.inputs; ++in) {
      const double factor = gain[in] / std::sqrt(var[in] + kRenormEps);
      const double offset = shift[in] - factor * mean[in];
      for (int64_t out = 0; out < layer.outputs; ++out) {
        float& w = weight[in * layer.outputs + out];
        moved[out] += offset * w;
        w = static_cast<float>(factor * w);
      }
    }
    for (int64_t out = 0; out < layer.outputs; ++out) bias[out] = static_cast<float>(moved[out]);
    x = graph.dense(x, std::move(weight), std::move(bias));
    if (i + 1 < layers_.size()) x = graph.relu(x);
  }
  return x;
}

void RenormMlp::visit_state(StateVisitor& state) {
  const torch::NoGradGuard no_grad;
  int64_t at = 0;
  for (int64_t member = 0; member < spec_.members; ++member) {
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Layer& layer = layers_[i];
      const auto name = "member" + std::to_string(member) + ".layer" + std::to_string(i) + ".";
      const auto visit = [&](const char* part, torch::IntArrayRef shape) {
        int64_t count = 1;
        for (const int64_t dim : shape) count *= dim;
        auto values = parameters_.narrow(0, at, count).view(shape);
        visit_tensor(state, name + part, values);
        at += count;
      };
      visit("norm_gain", {layer.inputs});
      visit("norm_shift", {layer.inputs});
      visit("weight", {layer.inputs, layer.outputs});
      visit("bias", {layer.outputs});
    }
  }
  visit_tensor(state, "running_mean", statistics_->mean);
  visit_tensor(state, "running_var", statistics_->var);
  state.scalar("training_passes", statistics_->passes);
}

}  // namespace rl_training
