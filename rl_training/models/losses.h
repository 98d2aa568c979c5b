#pragma once
#include <torch/types.h>

#include "rl_training/models/scalars.h"

namespace rl_training {

// The smallest value over the members for each row: [members, rows] -> [rows]. NaN if a member is
// NaN.
torch::Tensor minimum(const torch::Tensor& values);

// Weighted mean of the smallest and the largest member: lambda min + (1 - lambda) max, [rows].
torch::Tensor min_max_mix(const torch::Tensor& values, double lambda);

// Repeats each row n times in succession: [rows, d] -> [rows * n, d]. If a critic's values at the
// repeated rows are viewed as [rows, n], row i contains the values of the n candidate actions of
// row i of x.
torch::Tensor repeat_rows(const torch::Tensor& x, int64_t n);

// r + discount next_value, without gradient: [rows], [rows], [rows] or [rows, n] -> the shape of
// next_value.
torch::Tensor td_target(const torch::Tensor& rewards, const torch::Tensor& discount,
                        const torch::Tensor& next_value);

// clip(actions + clip(scale noise, +-bound), +-1), without gradient. All tensors have one shape.
torch::Tensor add_clipped_noise(const torch::Tensor& actions, const torch::Tensor& noise,
                                double scale, double bound);

// `scale` sum_i mean (values_i - target)^2, where i runs over members and the mean is over rows.
// One autograd node: [members, rows], [rows] -> scalar.
torch::Tensor squared_error(const torch::Tensor& values, const torch::Tensor& target,
                            double scale = 1.0);

// The mean of (x - y)^2 over all values, with gradient with respect to x. One autograd node.
torch::Tensor mean_squared_error(const torch::Tensor& x, const torch::Tensor& y);

struct SoftTarget {
  torch::Tensor values, mean;  // [rows], and their mean as a scalar
};
// r + discount (q - alpha next_log_prob) and its mean, without gradient, where q is the smallest of
// a row's next_values. If next_log_prob is undefined, the target has no alpha term.
// Shapes: [rows], [rows], [members, rows], [rows], scalar -> [rows], scalar.
SoftTarget soft_td_target(const torch::Tensor& rewards, const torch::Tensor& discount,
                          const torch::Tensor& next_values, const torch::Tensor& next_log_prob,
                          const torch::Tensor& alpha);

// Quantile regression with Huber's loss (kappa 1), as one autograd node. Compares predicted
// quantiles [members, rows, n] at levels (i + 1/2) / n with target samples [rows, m], and returns
// the mean over all pairs.
torch::Tensor quantile_huber(const torch::Tensor& quantiles, const torch::Tensor& target);

// How the values of several members are combined into one value.
enum class Reduce { minimum, mean };
// `loss` is the mean over rows of (alpha log_prob - Q), where `reduce` selects the minimum or the
// mean over members as Q. The loss is one autograd node, and alpha gets no gradient. `entropy` is
// -mean log_prob, without gradient. Shapes: [rows], [members, rows], scalar -> scalars.
struct SoftActorLoss {
  torch::Tensor loss, entropy;
};
SoftActorLoss soft_actor_loss(const torch::Tensor& log_prob, const torch::Tensor& values,
                              const torch::Tensor& alpha, Reduce reduce);

// The mean over rows of |expectile - 1[u < 0]| u^2 with u = target - values, both [rows], with
// gradient with respect to the values. One autograd node. An expectile of 0.5 gives half the mean
// square; larger values emphasise values below the target.
torch::Tensor expectile_loss(const torch::Tensor& values, const torch::Tensor& target,
                             double expectile);

// Gumbel regression: the mean over rows of exp(z) - z - 1 with z = min(difference / temperature,
// clip), [rows]. To prevent overflow, the loss is scaled by exp(-m) with m = max(max z, -1),
// without gradient through m. If difference = Q - V and nothing is clipped, the loss is smallest at
// V = temperature log mean exp(Q / temperature).
torch::Tensor gumbel_loss(const torch::Tensor& difference, double temperature, double clip);

// Like squared_error with scale 1, but with Huber's loss: x^2 / 2 up to |x| = delta, linear beyond.
torch::Tensor huber_error(const torch::Tensor& values, const torch::Tensor& target, double delta);

// min(exp(factor x), cap) without gradient. Clips the exponent instead of the result, which
// prevents overflow.
torch::Tensor exp_weights(const torch::Tensor& x, double factor, double cap);

// The negative mean over rows of weights * log_prob, both [rows], without gradient through the
// weights. One autograd node.
torch::Tensor weighted_cloning(const torch::Tensor& weights, const torch::Tensor& log_prob);

}  // namespace rl_training
