#pragma once
#include <torch/types.h>

namespace rl_training {

enum class MmdKernel { gaussian, laplacian };

// Maximum mean discrepancy between the samples x [rows, n, A] and y [rows, m, A] of each row, as
// one autograd node: [rows].
//   MMD = sqrt(mean k(x, x') + mean k(y, y') - 2 mean k(x, y) + 1e-6)
//   k(u, v) = exp(-|u - v|_1 / (2 sigma)) (laplacian) or exp(-|u - v|_2^2 / (2 sigma)) (gaussian)
torch::Tensor maximum_mean_discrepancy(const torch::Tensor& x, const torch::Tensor& y,
                                       MmdKernel kernel, double sigma);

// The same function, built from torch operators. It is the reference in tests.
torch::Tensor maximum_mean_discrepancy_plain(const torch::Tensor& x, const torch::Tensor& y,
                                             MmdKernel kernel, double sigma);

}  // namespace rl_training
