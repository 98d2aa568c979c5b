#include "rl_training/data/flat_arrays.h"

#include <algorithm>

namespace rl_training {

FlatArrays::FlatArrays(const TransitionDataset& dataset)
    : rows(dataset.rows()), obs_dim(dataset.obs_dim()), action_dim(dataset.action_dim()) {
  const auto append = [](std::vector<float>& out, const float* values, int64_t count) {
    out.insert(out.end(), values, values + count);
  };
  for (int64_t row = 0; row < rows; ++row) {
    append(obs, dataset.obs(row), obs_dim);
    append(next_obs, dataset.next_obs(row), obs_dim);
    append(actions, dataset.action(row), action_dim);
    rewards.push_back(dataset.reward(row));
    terminals.push_back(dataset.terminated(row) ? 1 : 0);
    timeouts.push_back(dataset.truncated(row) ? 1 : 0);
    if (!dataset.has_next_actions()) continue;
    append(next_actions, dataset.next_action(row), action_dim);
    next_action_valid.push_back(dataset.next_action_valid(row) ? 1 : 0);
  }
  const auto episodes = dataset.episodes();
  const bool unflagged_end = std::any_of(episodes.begin(), episodes.end(), [&](const Episode& e) {
    const int64_t last = e.first_row + e.rows - 1;
    return !dataset.terminated(last) && !dataset.truncated(last);
  });
  if (!unflagged_end) return;
  episode_starts.assign(static_cast<size_t>(rows), 0);
  for (const Episode& episode : episodes) {
    episode_starts[static_cast<size_t>(episode.first_row)] = 1;
  }
}

}  // namespace rl_training
