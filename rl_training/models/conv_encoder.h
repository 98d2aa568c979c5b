#pragma once
#include "rl_training/models/network.h"
#include "rl_training/util/rng.h"

namespace rl_training {

// Maps images to features. Bytes are scaled to [-0.5, 0.5] and pass through four 3 x 3 convolutions
// without padding, each followed by ReLU. The first convolution has stride 2. All layers use torch
// operators.
class ConvEncoder final : public Network {
 public:
  // `image` is the shape of one image, [image channels, height, width]. `channels` is the number of
  // output channels of each convolution. Throws Error{config} for images smaller than kLeastSize.
  ConvEncoder(torch::IntArrayRef image, int64_t channels, Rng& rng, const Compute& compute);

  // Smallest height and width of an image. All layers together reduce this size to one pixel.
  static constexpr int64_t kLeastSize = 15;
  int64_t features() const { return features_; }
  // uint8 [rows, image channels, height, width] -> [rows, features]
  torch::Tensor forward(const torch::Tensor& images) const;
  // Parts of the state: "layer0.weight" [channels, inputs, 3, 3], "layer0.bias", ...
  void visit_state(StateVisitor& state) override;

 private:
  int64_t image_channels_, channels_, features_;
};

// Reduces the number of features with a linear layer, layer norm and tanh.
class FeatureTrunk final : public Network {
 public:
  FeatureTrunk(int64_t inputs, int64_t outputs, Rng& rng, const Compute& compute);
  FeatureTrunk(const FeatureTrunk& other) = default;

  // [rows, inputs] -> [rows, outputs]
  torch::Tensor forward(const torch::Tensor& x, Use use = Use::train) const;
  void visit_state(StateVisitor& state) override;

 private:
  int64_t inputs_, outputs_;
};

}  // namespace rl_training
