#pragma once
#include <torch/types.h>

#include "rl_training/models/compute.h"

namespace rl_training {

// Matrix products of networks that are made of several autograd nodes: y[i] = a[i] b[i] + bias[i]
// for each i, in one node. It replaces torch::baddbmm, whose BLAS has its own threads, on which
// results would depend, and is optimised for few processors.
struct BatchedProduct {
  torch::Tensor a;           // [n, rows, k]
  torch::Tensor b;           // [n, k, columns], or [n, columns, k] with `transpose_b`
  torch::Tensor bias = {};   // [n, columns]; undefined: none
  bool transpose_b = false;  // y[i] = a[i] b[i]^T
  bool relu = false;         // applies ReLU to y
};

// [n, rows, columns]. Work is split in the same way for any pool, so results do not depend on it.
// Does not support double backward.
torch::Tensor batched_product(const BatchedProduct& work, ThreadPool* pool);

}  // namespace rl_training
