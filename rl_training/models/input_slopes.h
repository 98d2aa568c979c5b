#pragma once
#include "rl_training/models/critic_ensemble.h"

namespace rl_training {

// The gradient of each critic's value with respect to the action, as a differentiable function of
// the parameters, for losses on that gradient (EDAC). With ReLU it is a product of weights and of
// masks that are constant almost everywhere, so its own gradient is a single autograd node and
// needs no double backward.
class InputSlopes {
 public:
  // For critics of this shape, which must have ReLU and no LayerNorm.
  InputSlopes(const CriticEnsemble& critics, const Compute& compute);

  // [count, rows, action_dim]. A backward pass reaches only the parameters.
  torch::Tensor at(const CriticEnsemble& critics, const torch::Tensor& obs,
                   const torch::Tensor& actions) const;

 private:
  struct Shared;  // kernel and spare buffers, also held by the autograd nodes
  std::shared_ptr<Shared> shared_;

  friend class InputSlopesNode;
};

}  // namespace rl_training
