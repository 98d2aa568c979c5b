#pragma once
#include <gtest/gtest.h>

#include "rl_training/algorithms/algorithm.h"
#include "rl_training/models/mlp.h"

namespace rl_training {

// Examples with one-dimensional observations and networks without hidden layers, so that every
// value can be computed by hand.

inline AlgorithmContext choice_context(int64_t choices) {
  AlgorithmContext context;
  context.obs = Space::unbounded(1);
  context.action = Space::discrete(choices);
  return context;
}

// Returns a batch whose observations are 0. A network without hidden layers then outputs its
// biases.
inline Batch rows_of(const std::vector<int64_t>& choices, int64_t categories, float reward = 1,
                     float discount = 0.99f) {
  BatchRequest request;
  request.rows = static_cast<int64_t>(choices.size());
  Batch batch(request, Space::unbounded(1), Space::discrete(categories));
  batch.actions().copy_(torch::tensor(choices));
  batch.rewards().fill_(reward);
  batch.discount().fill_(discount);
  return batch;
}

// Sets the biases of each ensemble member to the given values, one per action, and all weights to
// 0.
inline void set_biases(const Mlp& network, const std::vector<std::vector<float>>& biases) {
  const torch::NoGradGuard no_grad;
  auto members = network.parameters().view({network.members(), -1});
  members.zero_();
  for (size_t m = 0; m < biases.size(); ++m) {
    const auto choices = static_cast<int64_t>(biases[m].size());
    members[static_cast<int64_t>(m)].narrow(0, choices, choices).copy_(torch::tensor(biases[m]));
  }
}

// Returns the gradient with respect to the biases of an ensemble member.
inline torch::Tensor bias_gradient(const Mlp& network, int64_t member) {
  const int64_t choices = network.outputs();
  return network.parameters().grad().view({network.members(), -1})[member].narrow(0, choices,
                                                                                  choices);
}

inline double number_of(const torch::Tensor& value) { return value.item<double>(); }

}  // namespace rl_training
