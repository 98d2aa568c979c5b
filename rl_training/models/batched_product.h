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

// Returns y [n, rows, columns] with y[i] = a[i] b[i] + bias[i], computed in one autograd node. Work
// is split in the same way for any pool, so results do not depend on the number of threads.
// torch::baddbmm, in contrast, calls a BLAS library. The results of that library depend on the
// number of its threads, and it is optimised for only a few processors. Does not support double
// backward.
torch::Tensor batched_product(const BatchedProduct& work, ThreadPool* pool);

}  // namespace rl_training
