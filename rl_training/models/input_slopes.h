#pragma once
#include "rl_training/models/critic_ensemble.h"

namespace rl_training {

// Computes the gradient of each critic's value with respect to the action. The result is
// differentiable with respect to the parameters, for losses that depend on this gradient (EDAC).
// With ReLU, the gradient is a product of weights and masks, and the masks are constant almost
// everywhere. A single autograd node can therefore differentiate the result, without double
// backward.
class InputSlopes {
 public:
  // For networks of the same shape as `critics`, which must use ReLU and no LayerNorm.
  InputSlopes(const CriticEnsemble& critics, const Compute& compute);

  // [count, rows, action_dim]. A backward pass computes gradients of the parameters only.
  torch::Tensor at(const CriticEnsemble& critics, const torch::Tensor& obs,
                   const torch::Tensor& actions) const;

 private:
  struct Shared;  // kernel and spare buffers, shared with the autograd nodes
  std::shared_ptr<Shared> shared_;

  friend class InputSlopesNode;
};

}  // namespace rl_training
