#pragma once
#include <torch/types.h>

#include "rl_training/models/compute.h"
#include "rl_training/models/network.h"

namespace rl_training {

// Batch renormalisation (arXiv:1702.03275).
struct RenormOptions {
  double momentum = 0.99;  // weight of the old running statistics in a training pass
  // Bound on the ratio of the batch standard deviation to the running standard deviation.
  double r_max = 3.0;
  double d_max = 5.0;             // bound on the shift of the mean, in running standard deviations
  int64_t warmup_steps = 100000;  // initial training passes that use only the batch statistics
};

constexpr double kRenormEps = 1e-3;

// Arguments of batch_renorm().
struct BatchRenorm {
  torch::Tensor x;            // [members, rows, features]
  torch::Tensor gain, shift;  // [members, features]
  // [members, features], contiguous for each member. A pass in Mode::train updates them after use.
  torch::Tensor running_mean, running_var;
  Mode mode = Mode::eval;
  bool warm = false;  // true once the warm-up is over
};

// Normalises each feature of x over the rows: y = gain (x - mean) / sqrt(var + eps) + shift with
// eps = kRenormEps. In Mode::eval, mean and var are the running statistics. In Mode::train, they
// are those of the batch, where var is the mean squared deviation. After the warm-up, Mode::train
// computes
//   r = clip(sqrt(var + eps) / sqrt(running_var + eps), 1 / r_max, r_max)         (no gradient)
//   d = clip((mean - running_mean) / sqrt(running_var + eps), -d_max, d_max)      (no gradient)
// and replaces mean by mean - (d / r) sqrt(var), and var by var / r^2.
// The function is one autograd node; the gradient flows through mean and var of the batch.
torch::Tensor batch_renorm(const BatchRenorm& work, const RenormOptions& options, ThreadPool* pool);

// The same function, built from torch operators. It supports double backward and is the reference
// in tests.
torch::Tensor batch_renorm_plain(const BatchRenorm& work, const RenormOptions& options);

}  // namespace rl_training
