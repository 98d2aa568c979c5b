#pragma once
#include <span>
#include <vector>

#include "rl_training/models/network.h"

namespace rl_training {

struct AdamOptions {
  double learning_rate = 3e-4;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  // Decoupled decay: each step first multiplies the parameters by
  // 1 - lr_scale * learning_rate * weight_decay.
  double weight_decay = 0.0;
  // If above 0, the norm of the gradient over all leaves is clipped to this value.
  double max_gradient_norm = 0.0;
};

// Adam (arXiv:1412.6980) on the parameters of a network or on several leaves. The step equals that
// of torch.optim.Adam. With `weight_decay`, it equals that of torch.optim.AdamW (arXiv:1711.05101).
class Adam {
 public:
  Adam(const Network& network, const AdamOptions& options, const Compute& compute);
  Adam(const std::vector<torch::Tensor>& leaves, const AdamOptions& options,
       const Compute& compute);

  // Replaces each gradient by its mean over the processes of the run, if there are several.
  void average_gradients();
  // Uses and then clears the gradient of each leaf. `lr_scale` multiplies the learning rate.
  void step(double lr_scale = 1.0);
  // Norm of the latest gradient before clipping; available only with `max_gradient_norm`.
  double gradient_norm() const { return gradient_norm_; }
  void visit_state(StateVisitor& state);

 private:
  struct Leaf {
    torch::Tensor parameters, first_moment, second_moment;
  };
  void clip_gradients();
  void step_leaf(Leaf& leaf, double rate, double bias1, double bias2);

  std::vector<Leaf> leaves_;
  AdamOptions options_;
  ThreadPool* pool_;
  ProcessGroup* processes_;
  std::vector<std::span<float>> gradients_;  // reused in every step
  int64_t steps_ = 0;
  double gradient_norm_ = 0;
};

// Performs one step with the gradients stored at the optimiser's leaves. All Adam steps of all
// algorithms use this function. No other function averages gradients over processes.
void apply_gradients(Adam& optimizer, double lr_scale);

// Runs the backward pass of `loss`, then apply_gradients.
void minimize(const torch::Tensor& loss, Adam& optimizer, double lr_scale);

}  // namespace rl_training
