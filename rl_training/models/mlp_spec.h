#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "rl_training/util/rng.h"

namespace rl_training {

// `none` is the identity, and `relu` is max(x, 0). `gelu` is the tanh approximation of x Phi(x)
// with the standard normal distribution function Phi. `elu` is x where positive, else exp(x) - 1.
enum class Activation { none, relu, tanh, gelu, elu };
enum class LayerNorm { none, before_activation, after_activation };

// Initialisation of a layer. Fan-in is the number of the layer's inputs.
struct LayerInit {
  enum class Weight { fan_in_uniform, uniform, xavier_uniform, orthogonal, lecun_normal };
  enum class Bias { fan_in_uniform, uniform, constant };
  Weight weight = Weight::fan_in_uniform;  // U(+-1/sqrt(fan-in)), LibTorch's default
  double weight_scale = 1.0;               // bound of uniform; gain of xavier, orthogonal and lecun
  Bias bias = Bias::fan_in_uniform;
  double bias_scale = 0.0;  // bound of `uniform`, value of `constant`
};

// Orthogonal weights with zero biases, as in IQL, in DrQ-v2 and in the critics of CQL.
constexpr LayerInit orthogonal_layer(double gain) {
  return {LayerInit::Weight::orthogonal, gain, LayerInit::Bias::constant, 0.0};
}
// Xavier weights with zero biases, as in RLPD, REDQ, FQL and the head of CQL's actor.
constexpr LayerInit xavier_layer(double gain = 1.0) {
  return {LayerInit::Weight::xavier_uniform, gain, LayerInit::Bias::constant, 0.0};
}
// For the hidden layers of ReBRAC, SAC-N and EDAC: weights uniform in +-1/sqrt(fan-in), biases
// equal to 0.1.
constexpr LayerInit fan_in_layer() {
  return {LayerInit::Weight::fan_in_uniform, 1.0, LayerInit::Bias::constant, 0.1};
}
// For the output layers of ReBRAC, SAC-N and EDAC: weights and biases uniform in +-bound.
constexpr LayerInit narrow_layer(double bound) {
  return {LayerInit::Weight::uniform, bound, LayerInit::Bias::uniform, bound};
}

struct MlpSpec {
  int64_t inputs = 0, outputs = 0;
  std::vector<int64_t> hidden_sizes = {256, 256};
  Activation activation = Activation::relu;
  Activation output_activation = Activation::none;  // gelu and elu are not supported
  LayerNorm layer_norm = LayerNorm::none;           // in every hidden block
  double layer_norm_eps = 1e-5;
  LayerInit hidden_init = {}, output_init = {};
  int64_t members = 1;  // independent networks of this shape in one buffer
};

// Offsets of a layer's parameters in the flat parameters of one member.
struct LayerLayout {
  int64_t inputs = 0, outputs = 0;
  int64_t weight = 0;             // [inputs, outputs]
  int64_t bias = 0;               // [outputs]
  int64_t gain = -1, shift = -1;  // LayerNorm, [outputs] each; -1 if there is none
};

struct MlpLayout {
  explicit MlpLayout(const MlpSpec& spec);
  std::vector<LayerLayout> layers;
  int64_t size = 0;  // parameters of one member
};

// Initialises weight, bias and LayerNorm of one layer. The offsets in `layer` are counted from
// `member`, the first parameter of the member.
void init_layer(const LayerInit& init, const LayerLayout& layer, Rng& rng, float* member);

// Initialises all members in order.
void init_parameters(const MlpSpec& spec, const MlpLayout& layout, Rng& rng,
                     std::span<float> parameters);

}  // namespace rl_training
