#include "rl_training/data/flat_arrays.h"

#include <algorithm>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

void append_values(std::vector<float>& out, const float* values, int64_t count) {
  out.insert(out.end(), values, values + count);
}

}  // namespace

TransitionDataset with_known_next_actions(const TransitionDataset& dataset) {
  const auto episodes = dataset.episodes();
  const bool knows_more = std::any_of(episodes.begin(), episodes.end(), [&](const Episode& one) {
    return dataset.next_action_valid(one.first_row + one.rows - 1);
  });
  return knows_more ? dataset.with_next_actions() : dataset;
}

void check_writable(const TransitionDataset& dataset) {
  if (!dataset.obs_space().is_image()) return;
  throw Error(ErrorKind::config,
              "datasets of images cannot be saved (expected observations that are "
              "vectors, got " +
                  dataset.obs_space().text() + ")");
}

void append_actions(const TransitionDataset& dataset, const Space* bounds, const float* values,
                    std::vector<float>& out) {
  for (int64_t k = 0; k < dataset.action_dim(); ++k) {
    out.push_back(bounds ? static_cast<float>(bounds->from_unit(k, values[k])) : values[k]);
  }
}

FlatArrays::FlatArrays(const TransitionDataset& given, const Space* bounds, FlatEnds ends)
    : obs_dim(given.obs_dim()),
      action_dim(given.action_dim()),
      discrete(given.action_space().is_discrete()) {
  check_writable(given);
  const TransitionDataset dataset = with_known_next_actions(given);
  const auto episodes = dataset.episodes();
  const bool observations = ends == FlatEnds::last_observations;
  bool unflagged_end = false;
  for (size_t i = 0; i < episodes.size(); ++i) {
    const int64_t last = episodes[i].first_row + episodes[i].rows - 1;
    for (int64_t row = episodes[i].first_row; row <= last; ++row) {
      append_row(dataset, bounds, row);
      (observations ? truncations : timeouts).push_back(dataset.truncated(row) ? 1 : 0);
    }
    if (observations) timeouts.resize(truncations.size(), 0);
    unflagged_end |= !dataset.terminated(last) && !dataset.truncated(last);
    // An episode that terminates needs no extra row, because the next observation of a terminal
    // step is never used. The last episode gets an extra row anyway, because readers such as
    // qlearning_dataset() drop the last row of a file.
    if (observations && (!dataset.terminated(last) || i + 1 == episodes.size())) {
      append_last_observation(dataset, bounds, last);
    }
  }
  if (observations || !unflagged_end) return;
  episode_starts.assign(static_cast<size_t>(rows), 0);
  for (const Episode& episode : episodes) {
    episode_starts[static_cast<size_t>(episode.first_row)] = 1;
  }
}

void FlatArrays::append_row(const TransitionDataset& dataset, const Space* bounds, int64_t row) {
  ++rows;
  append_values(obs, dataset.obs(row), obs_dim);
  append_values(next_obs, dataset.next_obs(row), obs_dim);
  if (discrete) {
    choices.push_back(dataset.choice(row));
  } else {
    append_actions(dataset, bounds, dataset.action(row), actions);
  }
  rewards.push_back(dataset.reward(row));
  terminals.push_back(dataset.terminated(row) ? 1 : 0);
  if (!dataset.has_next_actions()) return;
  if (discrete) {
    next_choices.push_back(dataset.next_choice(row));
  } else {
    append_actions(dataset, bounds, dataset.next_action(row), next_actions);
  }
  next_action_valid.push_back(dataset.next_action_valid(row) ? 1 : 0);
}

void FlatArrays::append_last_observation(const TransitionDataset& dataset, const Space* bounds,
                                         int64_t last_row) {
  ++rows;
  append_values(obs, dataset.next_obs(last_row), obs_dim);
  append_values(next_obs, dataset.next_obs(last_row), obs_dim);
  // Stores the action that followed the last step, or zeros if that action is unknown.
  if (discrete) {
    choices.push_back(dataset.next_choice(last_row));
  } else {
    append_actions(dataset, bounds, dataset.next_action(last_row), actions);
  }
  rewards.push_back(0);
  terminals.push_back(0);
  timeouts.push_back(1);
  truncations.push_back(0);
  if (!dataset.has_next_actions()) return;
  if (discrete) {
    next_choices.push_back(0);
  } else {
    append_actions(dataset, bounds, std::vector<float>(static_cast<size_t>(action_dim)).data(),
                   next_actions);
  }
  next_action_valid.push_back(0);
}

}  // namespace rl_training
