#pragma once
#include "rl_training/models/critic_ensemble.h"

namespace rl_training {

// The gradient of each critic's value by its action, as a function of the parameters: for losses on
// slopes (EDAC). With ReLU it is a product of weights and of masks that are constant nearly
// everywhere, so that its own gradient is one more node of autograd and no graph of gradients.
class InputSlopes {
 public:
  // For critics of this shape, which have ReLU and no LayerNorm.
  InputSlopes(const CriticEnsemble& critics, const Compute& compute);

  // [count, rows, action_dim]. A backward pass reaches the parameters alone.
  torch::Tensor at(const CriticEnsemble& critics, const torch::Tensor& obs,
                   const torch::Tensor& actions) const;

 private:
  struct Shared;  // kernel and spare buffers, also held by the autograd nodes
  std::shared_ptr<Shared> shared_;

  friend class InputSlopesNode;
};

}  // namespace rl_training
