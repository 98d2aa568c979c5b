#pragma once
#include <gtest/gtest.h>

#include "rl_training/algorithms/algorithm.h"
#include "tests/support/metric_values.h"
#include "tests/support/tensors.h"

namespace rl_training {

inline AlgorithmContext context_of(int64_t obs_dim, int64_t action_dim, uint64_t seed = 0) {
  AlgorithmContext context;
  context.obs = Space::unbounded(obs_dim);
  context.action = Space::unit_box(action_dim);
  context.seed = seed;
  return context;
}

// One observation, one action and networks without hidden layers, so that every value can be
// computed by hand.
inline AlgorithmContext linear_context() { return context_of(1, 1); }

// Filled with zeros, with next actions and their flags if requested; no row terminates.
inline Batch zero_batch(int64_t rows, int64_t obs_dim, int64_t action_dim,
                        bool next_actions = false) {
  BatchRequest request;
  request.rows = rows;
  request.columns.push_back(BatchColumn::terminated);
  if (next_actions) {
    request.columns.push_back(BatchColumn::next_action);
    request.columns.push_back(BatchColumn::next_action_valid);
  }
  Batch batch(request, Space::unbounded(obs_dim), Space::unit_box(action_dim));
  batch.discount().fill_(0.99);
  return batch;
}

// 1 where the task ended; the discounts are 0.99 elsewhere.
inline void set_terminated(const Batch& batch, const std::vector<float>& flags) {
  batch.terminated().copy_(torch::tensor(flags));
  batch.discount().copy_(0.99 * (1.0 - batch.terminated()));
}

// s = (1, -1), a = (0.5, -0.5), r = (1, 2), s' = (1, 2); the second row terminates.
inline Batch two_rows() {
  auto batch = zero_batch(2, 1, 1);
  batch.obs().copy_(torch::tensor({{1.0f}, {-1.0f}}));
  batch.actions().copy_(torch::tensor({{0.5f}, {-0.5f}}));
  batch.rewards().copy_(torch::tensor({1.0f, 2.0f}));
  batch.next_obs().copy_(torch::tensor({{1.0f}, {2.0f}}));
  set_terminated(batch, {0, 1});
  return batch;
}

// Q_1 = s + a, Q_2 = 2 s - a + 0.1: (1.5, -1.5) and (1.6, -1.4) at the two rows.
inline const std::vector<float> kOnlineCritics = {1, 1, 0, 2, -1, 0.1f};
// Q'_1 = 2 s + a + 0.5, Q'_2 = s - a + 1.
inline const std::vector<float> kTargetCritics = {2, 1, 0.5f, 1, -1, 1};

// A larger batch, to compare two implementations; the first row terminates.
inline Batch random_rows(int64_t rows, int64_t obs_dim, int64_t action_dim, uint64_t seed = 1) {
  auto batch = zero_batch(rows, obs_dim, action_dim);
  Rng rng(seed);
  rng.fill_normal(floats(batch.obs()));
  rng.fill_normal(floats(batch.next_obs()));
  rng.fill_uniform(floats(batch.actions()), -1, 1);
  rng.fill_normal(floats(batch.rewards()));
  batch.terminated()[0] = 1.0f;
  batch.discount()[0] = 0.0f;
  return batch;
}

// The gradient at `leaf` after a backward pass of `loss`; cleared before and after.
inline torch::Tensor gradient_at(const torch::Tensor& leaf, const torch::Tensor& loss) {
  leaf.mutable_grad() = torch::Tensor();
  loss.backward();
  const auto gradient = leaf.grad().clone();
  leaf.mutable_grad() = torch::Tensor();
  return gradient;
}

}  // namespace rl_training
