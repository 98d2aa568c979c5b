#pragma once
#include <torch/types.h>

namespace rl_training {

// A diagonal normal distribution for each row. The mean is the output of a network; the log
// standard deviation is also an output, or a free parameter. A is the number of action dimensions.
struct GaussianHead {
  torch::Tensor output;        // [rows, 2 A]: mean and raw log std; [rows, A] with `free_log_std`
  torch::Tensor free_log_std;  // [A], the same for every row; undefined if part of `output`
  double log_std_min = -20.0, log_std_max = 2.0;  // bounds of the raw log std
  bool squash = true;                             // a = tanh(u); otherwise a = u

  int64_t action_dim() const { return output.size(1) / (free_log_std.defined() ? 1 : 2); }
  torch::Tensor mean() const { return output.narrow(1, 0, action_dim()); }
};

// n samples for each row. The samples of a row are adjacent.
struct GaussianSample {
  torch::Tensor actions;    // a, [rows * n, A]
  torch::Tensor log_prob;   // log density of a, [rows * n]
  torch::Tensor unbounded;  // u, [rows * n, A]
};

// Computes u = mean + std * noise, a = tanh(u) or a = u, and the exact log density of a. `noise` is
// [rows * n, A]. The function is one autograd node; gradients flow to the head through all three
// results.
GaussianSample gaussian_sample(const GaussianHead& head, const torch::Tensor& noise);

// Sampled actions in [-1, 1] without gradient, for execution or for a critic. Samples of an
// unsquashed head are clipped.
torch::Tensor gaussian_actions(const GaussianHead& head, const torch::Tensor& noise);

// Log density [rows] of given actions [rows, A]. For a squashed head, actions are first clipped to
// +-kActionLimit, where atanh is still accurate in float32.
torch::Tensor gaussian_log_prob(const GaussianHead& head, const torch::Tensor& actions);

// Versions of gaussian_sample and gaussian_log_prob that are built from torch operators. They
// support double backward and are the reference in tests.
GaussianSample gaussian_sample_plain(const GaussianHead& head, const torch::Tensor& noise);
torch::Tensor gaussian_log_prob_plain(const GaussianHead& head, const torch::Tensor& actions);

constexpr double kActionLimit = 1.0 - 1e-5;

}  // namespace rl_training
