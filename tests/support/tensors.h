#pragma once
#include <span>
#include <vector>

#include "rl_training/models/network.h"
#include "rl_training/util/rng.h"

namespace rl_training {

inline std::span<float> floats(const torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

inline torch::Tensor draw_normal(Rng& rng, torch::IntArrayRef shape) {
  auto values = torch::empty(shape);
  rng.fill_normal(floats(values));
  return values;
}

inline torch::Tensor normal_noise(torch::IntArrayRef shape, uint64_t seed) {
  Rng rng(seed);
  return draw_normal(rng, shape);
}

inline void set_values(const torch::Tensor& leaf, const std::vector<float>& values) {
  const torch::NoGradGuard no_grad;
  leaf.copy_(torch::tensor(values));
}

inline void set_parameters(const Network& network, const std::vector<float>& values) {
  set_values(network.parameters(), values);
}

// Computes the forward pass with torch operators. The result is the reference for the fused
// operators.
inline torch::Tensor plain(const FeedForward& network, const torch::Tensor& x,
                           const torch::Tensor& side = {}, Use use = Use::train) {
  return network.forward(x, side, {.use = use, .twice_differentiable = true});
}

}  // namespace rl_training
