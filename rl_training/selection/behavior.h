#pragma once
#include <memory>

#include "rl_training/data/transition_dataset.h"
#include "rl_training/models/adam.h"
#include "rl_training/models/gaussian_actor.h"

namespace rl_training {

// The density of dataset actions, fitted by maximum likelihood: a squashed normal distribution, or
// probabilities of discrete actions. Importance sampling divides by this density.
class BehaviorModel {
 public:
  BehaviorModel(const TransitionDataset& data, uint64_t seed, const Compute& compute);

  void update(const torch::Tensor& obs, const torch::Tensor& actions);
  // Returns [rows], without gradient.
  torch::Tensor log_density(const torch::Tensor& obs, const torch::Tensor& actions) const;
  void visit_state(StateVisitor& state);

 private:
  torch::Tensor log_prob(const torch::Tensor& obs, const torch::Tensor& actions) const;

  std::unique_ptr<GaussianActor> actor_;  // for continuous actions
  std::unique_ptr<Mlp> logits_;           // for discrete actions
  std::unique_ptr<Adam> optimizer_;
};

}  // namespace rl_training
