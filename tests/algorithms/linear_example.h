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

// The context of examples in which every value can be computed by hand: observations and actions
// are one-dimensional, and the networks have no hidden layers.
inline AlgorithmContext linear_context() { return context_of(1, 1); }

// Returns a batch of zeros without terminal rows. With `next_actions`, the batch also has next
// actions and, for each row, a flag that states whether the next action is valid.
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

// Sets the `terminated` flags (1 for a terminal row) and the discounts (0 for a terminal row, 0.99
// for all other rows).
inline void set_terminated(const Batch& batch, const std::vector<float>& flags) {
  batch.terminated().copy_(torch::tensor(flags));
  batch.discount().copy_(0.99 * (1.0 - batch.terminated()));
}

// A batch with s = (1, -1), a = (0.5, -0.5), r = (1, 2) and s' = (1, 2). The second row is
// terminal.
inline Batch two_rows() {
  auto batch = zero_batch(2, 1, 1);
  batch.obs().copy_(torch::tensor({{1.0f}, {-1.0f}}));
  batch.actions().copy_(torch::tensor({{0.5f}, {-0.5f}}));
  batch.rewards().copy_(torch::tensor({1.0f, 2.0f}));
  batch.next_obs().copy_(torch::tensor({{1.0f}, {2.0f}}));
  set_terminated(batch, {0, 1});
  return batch;
}

// The critics are Q_1 = s + a and Q_2 = 2 s - a + 0.1. For two_rows(), Q_1 = (1.5, -1.5) and
// Q_2 = (1.6, -1.4).
inline const std::vector<float> kOnlineCritics = {1, 1, 0, 2, -1, 0.1f};
// The target critics are Q'_1 = 2 s + a + 0.5 and Q'_2 = s - a + 1.
inline const std::vector<float> kTargetCritics = {2, 1, 0.5f, 1, -1, 1};

// A larger batch for comparing two implementations. The first row is terminal.
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

// Returns the gradient of `loss` with respect to `leaf`. Clears the gradient of `leaf` before and
// after.
inline torch::Tensor gradient_at(const torch::Tensor& leaf, const torch::Tensor& loss) {
  leaf.mutable_grad() = torch::Tensor();
  loss.backward();
  const auto gradient = leaf.grad().clone();
  leaf.mutable_grad() = torch::Tensor();
  return gradient;
}

}  // namespace rl_training
