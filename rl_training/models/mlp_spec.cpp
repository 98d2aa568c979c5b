#include "rl_training/models/mlp_spec.h"

#include <cmath>

namespace rl_training {
namespace {

void fill_uniform(Rng& rng, std::span<float> out, double bound) {
  for (float& value : out) value = static_cast<float>(rng.uniform(-bound, bound));
}

// Orthonormal rows or columns, whichever are fewer, times `gain`. Uses modified Gram-Schmidt on
// normally distributed values.
void fill_orthogonal(Rng& rng, std::span<float> out, int64_t rows, int64_t columns, double gain) {
  const bool wide = columns >= rows;
  const int64_t count = wide ? rows : columns;
  const int64_t length = wide ? columns : rows;
  std::vector<std::vector<double>> basis;
  while (static_cast<int64_t>(basis.size()) < count) {
    std::vector<double> v(length);
    for (double& x : v) x = rng.normal();
    for (const auto& b : basis) {
      double projection = 0;
      for (int64_t j = 0; j < length; ++j) projection += v[j] * b[j];
      for (int64_t j = 0; j < length; ++j) v[j] -= projection * b[j];
    }
    double norm = 0;
    for (const double x : v) norm += x * x;
    if (norm < 1e-12) continue;
    for (double& x : v) x /= std::sqrt(norm);
    basis.push_back(std::move(v));
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      out[i * columns + j] = static_cast<float>(gain * (wide ? basis[i][j] : basis[j][i]));
    }
  }
}

// A normal distribution truncated at two standard deviations, with variance (gain / sqrt(fan_in))^2
// after truncation.
void fill_lecun_normal(Rng& rng, std::span<float> out, double fan_in, double gain) {
  constexpr double kStdOfCutNormal = 0.87962566103423978;
  const double scale = gain / std::sqrt(fan_in) / kStdOfCutNormal;
  for (float& value : out) {
    double drawn = rng.normal();
    while (std::abs(drawn) > 2.0) drawn = rng.normal();
    value = static_cast<float>(scale * drawn);
  }
}

}  // namespace

void init_layer(const LayerInit& init, const LayerLayout& layer, Rng& rng, float* member) {
  const std::span<float> weight(member + layer.weight, layer.inputs * layer.outputs);
  const std::span<float> bias(member + layer.bias, layer.outputs);
  const double fan_in_bound = 1.0 / std::sqrt(static_cast<double>(layer.inputs));
  const auto fan_sum = static_cast<double>(layer.inputs + layer.outputs);
  switch (init.weight) {
    case LayerInit::Weight::fan_in_uniform:
      fill_uniform(rng, weight, fan_in_bound);
      break;
    case LayerInit::Weight::uniform:
      fill_uniform(rng, weight, init.weight_scale);
      break;
    case LayerInit::Weight::xavier_uniform:
      fill_uniform(rng, weight, init.weight_scale * std::sqrt(6.0 / fan_sum));
      break;
    case LayerInit::Weight::orthogonal:
      fill_orthogonal(rng, weight, layer.inputs, layer.outputs, init.weight_scale);
      break;
    case LayerInit::Weight::lecun_normal:
      fill_lecun_normal(rng, weight, static_cast<double>(layer.inputs), init.weight_scale);
      break;
  }
  switch (init.bias) {
    case LayerInit::Bias::fan_in_uniform:
      fill_uniform(rng, bias, fan_in_bound);
      break;
    case LayerInit::Bias::uniform:
      fill_uniform(rng, bias, init.bias_scale);
      break;
    case LayerInit::Bias::constant:
      for (float& value : bias) value = static_cast<float>(init.bias_scale);
      break;
  }
  if (layer.gain >= 0) {
    for (int64_t j = 0; j < layer.outputs; ++j) {
      member[layer.gain + j] = 1.0f;
      member[layer.shift + j] = 0.0f;
    }
  }
}

MlpLayout::MlpLayout(const MlpSpec& spec) {
  int64_t inputs = spec.inputs;
  const auto add_layer = [&](int64_t outputs, bool normalised) {
    LayerLayout layer;
    layer.inputs = inputs;
    layer.outputs = outputs;
    layer.weight = size;
    layer.bias = layer.weight + inputs * outputs;
    size = layer.bias + outputs;
    if (normalised) {
      layer.gain = size;
      layer.shift = size + outputs;
      size += 2 * outputs;
    }
    layers.push_back(layer);
    inputs = outputs;
  };
  for (const int64_t width : spec.hidden_sizes) {
    add_layer(width, spec.layer_norm != LayerNorm::none);
  }
  add_layer(spec.outputs, false);
}

void init_parameters(const MlpSpec& spec, const MlpLayout& layout, Rng& rng,
                     std::span<float> parameters) {
  for (int64_t member = 0; member < spec.members; ++member) {
    float* own = parameters.data() + member * layout.size;
    for (size_t i = 0; i < layout.layers.size(); ++i) {
      const bool last = i + 1 == layout.layers.size();
      init_layer(last ? spec.output_init : spec.hidden_init, layout.layers[i], rng, own);
    }
  }
}

}  // namespace rl_training
