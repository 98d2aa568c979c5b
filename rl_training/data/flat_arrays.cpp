#include "rl_training/data/flat_arrays.h"

#include <algorithm>

namespace rl_training {

namespace {

// Whether a last row knows the action that followed, though that row is not part of the data.
bool knows_more_than_its_rows(const TransitionDataset& dataset) {
  const auto episodes = dataset.episodes();
  return std::any_of(episodes.begin(), episodes.end(), [&](const Episode& episode) {
    return dataset.next_action_valid(episode.first_row + episode.rows - 1);
  });
}

}  // namespace

void append_actions(const TransitionDataset& dataset, const Space* bounds, const float* values,
                    std::vector<float>& out) {
  for (int64_t k = 0; k < dataset.action_dim(); ++k) {
    out.push_back(bounds ? static_cast<float>(bounds->from_unit(k, values[k])) : values[k]);
  }
}

FlatArrays::FlatArrays(const TransitionDataset& given, const Space* bounds)
    : rows(given.rows()),
      obs_dim(given.obs_dim()),
      action_dim(given.action_dim()),
      discrete(given.action_space().is_discrete()) {
  const TransitionDataset dataset =
      knows_more_than_its_rows(given) ? given.with_next_actions() : given;
  const auto append = [](std::vector<float>& out, const float* values, int64_t count) {
    out.insert(out.end(), values, values + count);
  };
  for (int64_t row = 0; row < rows; ++row) {
    append(obs, dataset.obs(row), obs_dim);
    append(next_obs, dataset.next_obs(row), obs_dim);
    if (discrete) {
      choices.push_back(dataset.choice(row));
    } else {
      append_actions(dataset, bounds, dataset.action(row), actions);
    }
    rewards.push_back(dataset.reward(row));
    terminals.push_back(dataset.terminated(row) ? 1 : 0);
    timeouts.push_back(dataset.truncated(row) ? 1 : 0);
    if (!dataset.has_next_actions()) continue;
    if (discrete) {
      next_choices.push_back(dataset.next_choice(row));
    } else {
      append_actions(dataset, bounds, dataset.next_action(row), next_actions);
    }
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
