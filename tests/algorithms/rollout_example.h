#pragma once
#include "rl_training/algorithms/on_policy.h"
#include "tests/support/tensors.h"

namespace rl_training {

// A rollout batch with one-dimensional observations. Its log-probabilities and values are 0.
inline Batch rollout_batch(const Space& action, const std::vector<float>& obs,
                           const std::vector<float>& advantages) {
  BatchRequest request;
  request.rows = static_cast<int64_t>(obs.size());
  request.columns = {BatchColumn::obs, BatchColumn::action, BatchColumn::log_prob,
                     BatchColumn::value, BatchColumn::advantage};
  Batch batch(request, Space::unbounded(1), action);
  set_values(batch.obs().view({-1}), obs);
  set_values(batch.advantages(), advantages);
  return batch;
}

inline AlgorithmContext rollout_context(const Space& action, int64_t obs_dim = 1) {
  AlgorithmContext context;
  context.obs = Space::unbounded(obs_dim);
  context.action = action;
  return context;
}

}  // namespace rl_training
