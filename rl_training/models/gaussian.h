#pragma once
#include <torch/types.h>

namespace rl_training {

// A diagonal normal distribution for each row: mean and log standard deviation from a network (and
// a free parameter).
struct GaussianHead {
  torch::Tensor output;        // [rows, 2 A]: mean and raw log std; [rows, A] with `free_log_std`
  torch::Tensor free_log_std;  // [A], the same for every row; undefined: taken from `output`
  double log_std_min = -20.0, log_std_max = 2.0;  // the raw log std is clamped to these
  bool squash = true;                             // a = tanh(u); otherwise a = u

  int64_t action_dim() const { return output.size(1) / (free_log_std.defined() ? 1 : 2); }
  torch::Tensor mean() const { return output.narrow(1, 0, action_dim()); }
};

// u = mean + std * noise, a = tanh(u) or u, and the exact log density of a. `noise` is
// [rows * n, A]: the n samples of a row are adjacent.
struct GaussianSample {
  torch::Tensor actions;    // [rows * n, A]
  torch::Tensor log_prob;   // [rows * n]
  torch::Tensor unbounded;  // u, [rows * n, A]
};

// One autograd node; gradients flow to the head through all three results.
GaussianSample gaussian_sample(const GaussianHead& head, const torch::Tensor& noise);

// Sampled actions in [-1, 1] without gradient, for execution or for a critic. Samples of an
// unsquashed head are clipped.
torch::Tensor gaussian_actions(const GaussianHead& head, const torch::Tensor& noise);

// Log density [rows] of given actions [rows, A]. Squashed: actions are first clipped to +-(1 -
// 1e-5), where atanh is still well behaved in float32.
torch::Tensor gaussian_log_prob(const GaussianHead& head, const torch::Tensor& actions);

// The same two functions made of torch operators, as the reference in tests and for double
// backward.
GaussianSample gaussian_sample_plain(const GaussianHead& head, const torch::Tensor& noise);
torch::Tensor gaussian_log_prob_plain(const GaussianHead& head, const torch::Tensor& actions);

constexpr double kActionLimit = 1.0 - 1e-5;

}  // namespace rl_training
