#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rl_training/util/rng.h"

namespace rl_training {

// The policy that recorded a D4RL file. Some files contain this policy in `metadata/policy`. It has
// hidden layers fc0, fc1, ... and two output layers: last_fc for the mean and last_fc_log_std for
// the logarithm of the standard deviation of a Gaussian. tanh squashes the sample into (-1, 1).
class BehaviourPolicy {
 public:
  // Reads the file in a sandbox. Throws Error{data} with file and key if the file contains no
  // policy or a policy of another kind.
  static BehaviourPolicy read(const std::string& path);

  int64_t obs_dim() const { return hidden_.front().in; }
  int64_t action_dim() const { return mean_.out; }

  // Mean and standard deviation before tanh.
  void distribution(std::span<const double> obs, std::span<float> mean, std::span<float> std);
  // A sampled action in (-1, 1).
  void act(std::span<const double> obs, Rng& rng, std::span<float> action);

 private:
  struct Layer {
    int64_t in = 0, out = 0;
    std::vector<float> weight;  // [in][out], so that the inner loop runs over outputs
    std::vector<float> bias;

    void apply(std::span<const float> input, std::span<float> output) const;
  };

  std::vector<Layer> hidden_;
  Layer mean_, log_std_;
  bool relu_ = true;                        // activation: ReLU if true, tanh if false
  std::vector<float> values_, next_, std_;  // buffers of one forward pass
};

}  // namespace rl_training
