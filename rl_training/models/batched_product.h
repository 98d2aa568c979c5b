#pragma once
#include <torch/types.h>

#include "rl_training/models/compute.h"

namespace rl_training {

// Arguments of batched_product().
struct BatchedProduct {
  torch::Tensor a;           // [n, rows, k]
  torch::Tensor b;           // [n, k, columns], or [n, columns, k] with `transpose_b`
  torch::Tensor bias = {};   // [n, columns]; no bias if undefined
  bool transpose_b = false;  // y[i] = a[i] b[i]^T
  bool relu = false;         // applies ReLU to y
};

// Computes y[i] = a[i] b[i] + bias[i] for all i in one autograd node: [n, rows, columns]. Work is
// split in the same way for any pool, so results do not depend on the number of threads. In
// contrast, torch::baddbmm uses the threads of its BLAS library, so its results depend on their
// number; this library is also optimised for only a few processors. Does not support double
// backward.
torch::Tensor batched_product(const BatchedProduct& work, ThreadPool* pool);

}  // namespace rl_training
