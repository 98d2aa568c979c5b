#pragma once
#include <vector>

#include "rl_training/algorithms/algorithm.h"
#include "rl_training/models/mlp.h"

namespace rl_training {

inline void set_numbers(torch::Tensor leaf, const std::vector<float>& numbers) {
  const torch::NoGradGuard no_grad;
  leaf.copy_(torch::tensor(numbers));
}

inline double metric(const Metrics& metrics, const char* name) {
  return metrics.get(name).item<double>();
}

inline std::vector<std::string> names_of(const Metrics& metrics) {
  std::vector<std::string> names;
  for (const auto& [name, value] : metrics.values()) names.emplace_back(name);
  return names;
}

// One observation, one action, networks without hidden layers: every number by hand.
inline AlgorithmContext linear_context() {
  AlgorithmContext context;
  context.obs_dim = context.action_dim = 1;
  return context;
}

// s = (1, -1), a = (0.5, -0.5), r = (1, 2), s' = (1, 2); the second row terminates.
inline Batch two_rows() {
  auto batch = Batch::allocate(2, 1, 1, false);
  batch.obs.copy_(torch::tensor({{1.0f}, {-1.0f}}));
  batch.actions.copy_(torch::tensor({{0.5f}, {-0.5f}}));
  batch.rewards.copy_(torch::tensor({1.0f, 2.0f}));
  batch.next_obs.copy_(torch::tensor({{1.0f}, {2.0f}}));
  batch.terminated.copy_(torch::tensor({0.0f, 1.0f}));
  return batch;
}

// Q_1 = s + a, Q_2 = 2 s - a + 0.1: (1.5, -1.5) and (1.6, -1.4) at the two rows.
inline const std::vector<float> kOnlineCritics = {1, 1, 0, 2, -1, 0.1f};
// Q'_1 = 2 s + a + 0.5, Q'_2 = s - a + 1.
inline const std::vector<float> kTargetCritics = {2, 1, 0.5f, 1, -1, 1};

// A batch of many rows and columns, to compare ways of computing the same.
inline Batch random_rows(int64_t rows, int64_t obs_dim, int64_t action_dim, uint64_t seed = 1) {
  auto batch = Batch::allocate(rows, obs_dim, action_dim, false);
  Rng rng(seed);
  const auto floats = [](const torch::Tensor& t) {
    return std::span<float>(t.data_ptr<float>(), static_cast<size_t>(t.numel()));
  };
  rng.fill_normal(floats(batch.obs));
  rng.fill_normal(floats(batch.next_obs));
  rng.fill_uniform(floats(batch.actions), -1, 1);
  rng.fill_normal(floats(batch.rewards));
  batch.terminated[0] = 1.0f;
  return batch;
}

inline torch::Tensor normal_noise(torch::IntArrayRef shape, uint64_t seed) {
  auto noise = torch::empty(shape);
  Rng(seed).fill_normal({noise.data_ptr<float>(), static_cast<size_t>(noise.numel())});
  return noise;
}

// The gradient that a backward pass of `loss` leaves at `leaf`, which is cleared before and after.
inline torch::Tensor gradient_at(const torch::Tensor& leaf, const torch::Tensor& loss) {
  leaf.mutable_grad() = torch::Tensor();
  loss.backward();
  const auto gradient = leaf.grad().clone();
  leaf.mutable_grad() = torch::Tensor();
  return gradient;
}

}  // namespace rl_training
