#include "rl_training/models/conv_encoder.h"

#include <ATen/ATen.h>

#include <array>
#include <numbers>

#include "rl_training/models/batched_product.h"
#include "rl_training/models/mlp_spec.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr int64_t kLayers = 4, kKernel = 3;
constexpr double kTrunkNormEps = 1e-5;

int64_t layer_inputs(int64_t layer, int64_t image_channels, int64_t channels) {
  return layer == 0 ? image_channels : channels;
}

// Number of values in each part of the flat parameters: for each layer, its weight [channels,
// inputs, 3, 3] and its bias [channels].
std::vector<int64_t> part_sizes(int64_t image_channels, int64_t channels) {
  std::vector<int64_t> sizes;
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const int64_t inputs = layer_inputs(layer, image_channels, channels);
    sizes.insert(sizes.end(), {channels * inputs * kKernel * kKernel, channels});
  }
  return sizes;
}

// Orthogonal weights, with the gain for ReLU, and zero biases.
torch::Tensor initial_convolutions(int64_t image_channels, int64_t channels, Rng& rng) {
  int64_t size = 0;
  for (const int64_t part : part_sizes(image_channels, channels)) size += part;
  auto parameters = torch::zeros({size});
  auto* at = parameters.data_ptr<float>();
  std::vector<float> drawn;
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    LayerLayout place;
    place.inputs = layer_inputs(layer, image_channels, channels) * kKernel * kKernel;
    place.outputs = channels;
    place.bias = place.inputs * channels;
    drawn.assign(static_cast<size_t>(place.bias + channels), 0.0f);
    init_layer(orthogonal_layer(std::numbers::sqrt2), place, rng, drawn.data());
    for (int64_t out = 0; out < channels; ++out) {
      for (int64_t in = 0; in < place.inputs; ++in) {
        *at++ = drawn[static_cast<size_t>(in * channels + out)];
      }
    }
    at += channels;
  }
  return parameters;
}

int64_t encoded_extent(int64_t extent) {
  return (extent - kKernel) / 2 + 1 - (kLayers - 1) * (kKernel - 1);
}

int64_t encoded_features(torch::IntArrayRef image, int64_t channels) {
  const int64_t height = image[1], width = image[2];
  if (std::min(height, width) < ConvEncoder::kLeastSize) {
    throw Error(ErrorKind::config, {"", 0, "env_id"},
                "images are too small for the encoder (expected at least " +
                    std::to_string(ConvEncoder::kLeastSize) + " rows and columns, got " +
                    std::to_string(height) + " x " + std::to_string(width) + ")");
  }
  return channels * encoded_extent(height) * encoded_extent(width);
}

torch::Tensor initial_trunk(int64_t inputs, int64_t outputs, Rng& rng) {
  const int64_t weights = inputs * outputs;
  auto parameters = torch::zeros({weights + 3 * outputs});
  LayerLayout place;
  place.inputs = inputs;
  place.outputs = outputs;
  place.bias = weights;
  place.gain = weights + outputs;
  place.shift = place.gain + outputs;
  init_layer(orthogonal_layer(1.0), place, rng, parameters.data_ptr<float>());
  return parameters;
}

}  // namespace

ConvEncoder::ConvEncoder(torch::IntArrayRef image, int64_t channels, Rng& rng,
                         const Compute& compute)
    : Network(initial_convolutions(image[0], channels, rng), compute),
      image_channels_(image[0]),
      channels_(channels),
      features_(encoded_features(image, channels)) {}

// Uses the channels-last layout, because oneDNN's convolutions are fastest with it.
torch::Tensor ConvEncoder::forward(const torch::Tensor& images) const {
  TORCH_CHECK(images.dim() == 4 && images.scalar_type() == torch::kByte, "not a batch of images");
  const auto parts = parameters_.split_with_sizes(part_sizes(image_channels_, channels_));
  auto value =
      images
          .to(torch::kFloat, /*non_blocking=*/false, /*copy=*/false, at::MemoryFormat::ChannelsLast)
          .div_(255.0)
          .sub_(0.5);
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const auto part = static_cast<size_t>(2 * layer);
    const auto weight = parts[part].view({channels_, -1, kKernel, kKernel});
    value = at::conv2d(value, weight, parts[part + 1], layer == 0 ? 2 : 1).relu_();
  }
  return value.reshape({images.size(0), features_});
}

void ConvEncoder::visit_state(StateVisitor& state) {
  const torch::NoGradGuard no_grad;
  const auto parts = parameters_.split_with_sizes(part_sizes(image_channels_, channels_));
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const auto name = "layer" + std::to_string(layer);
    const auto part = static_cast<size_t>(2 * layer);
    auto weight = parts[part].view({channels_, -1, kKernel, kKernel}), bias = parts[part + 1];
    visit_tensor(state, name + ".weight", weight);
    visit_tensor(state, name + ".bias", bias);
  }
}

FeatureTrunk::FeatureTrunk(int64_t inputs, int64_t outputs, Rng& rng, const Compute& compute)
    : Network(initial_trunk(inputs, outputs, rng), compute), inputs_(inputs), outputs_(outputs) {}

torch::Tensor FeatureTrunk::forward(const torch::Tensor& x, Use use) const {
  const auto parts = (use == Use::train ? parameters_ : parameters_.detach())
                         .split_with_sizes({inputs_ * outputs_, outputs_, outputs_, outputs_});
  const auto linear = batched_product({.a = x.unsqueeze(0),
                                       .b = parts[0].view({1, inputs_, outputs_}),
                                       .bias = parts[1].unsqueeze(0)},
                                      pool_)
                          .view({x.size(0), outputs_});
  return at::layer_norm(linear, {outputs_}, parts[2], parts[3], kTrunkNormEps).tanh();
}

void FeatureTrunk::visit_state(StateVisitor& state) {
  const torch::NoGradGuard no_grad;
  auto parts = parameters_.split_with_sizes({inputs_ * outputs_, outputs_, outputs_, outputs_});
  parts[0] = parts[0].view({inputs_, outputs_});
  const std::array names = {"weight", "bias", "norm_gain", "norm_shift"};
  for (size_t i = 0; i < names.size(); ++i) visit_tensor(state, names[i], parts[i]);
}

}  // namespace rl_training
