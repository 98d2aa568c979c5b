#pragma once
#include "rl_training/models/adam.h"

namespace rl_training {

// A positive value x that is learnt through its logarithm, such as an entropy temperature or a
// Lagrange multiplier. Its gradient has a closed form, so no autograd graph is needed.
class LogScalar {
 public:
  struct Options {
    double initial_log = 0.0;
    double learning_rate = 3e-4;  // constant: learning-rate schedules do not apply
    double log_min = -1e9, log_max = 1e9;
  };

  LogScalar(const Options& options, const Compute& compute);

  // x as a scalar tensor without gradient.
  const torch::Tensor& value() const { return value_; }
  // Performs one Adam step with `gradient`, the derivative of a loss with respect to log x (a
  // scalar tensor).
  void descend(const torch::Tensor& gradient);
  void visit_state(StateVisitor& state);

 private:
  void refresh_value();

  Options options_;
  torch::Tensor log_;  // [1]
  Adam optimizer_;
  torch::Tensor value_;
};

}  // namespace rl_training
