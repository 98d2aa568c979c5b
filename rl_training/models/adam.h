#pragma once
#include <vector>

#include "rl_training/models/network.h"

namespace rl_training {

struct AdamOptions {
  double learning_rate = 3e-4;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.0;
};

// Adam (arXiv:1412.6980) on flat parameters, those of a network or several leaves; the same step as
// torch.optim.Adam.
class Adam {
 public:
  Adam(const Network& network, const AdamOptions& options, const Compute& compute);
  Adam(std::vector<torch::Tensor> leaves, const AdamOptions& options, const Compute& compute);

  // Uses and then clears the gradient of each leaf. `lr_scale` multiplies the learning rate.
  void step(double lr_scale = 1.0);
  void visit_state(StateVisitor& state);

 private:
  struct Leaf {
    torch::Tensor parameters, first_moment, second_moment;
  };
  void step_leaf(Leaf& leaf, double step_size, double bias2);

  std::vector<Leaf> leaves_;
  AdamOptions options_;
  ThreadPool* pool_;
  int64_t steps_ = 0;
};

// One step along the gradients that lie at the optimiser's leaves. Every gradient of every
// algorithm passes through here: the place where several processes would average them.
void apply_gradients(Adam& optimizer, double lr_scale);

// Backward pass and one step: what each loss of each algorithm does.
void minimize(const torch::Tensor& loss, Adam& optimizer, double lr_scale);

}  // namespace rl_training
