#include "rl_training/data/marked_ends.h"

#include <algorithm>
#include <utility>

#include "rl_training/data/dataset_builder.h"
#include "rl_training/data/flat_arrays.h"

namespace rl_training {
namespace {

bool has_flag(const TransitionDataset& data, const Episode& episode) {
  const int64_t last = episode.first_row + episode.rows - 1;
  return data.terminated(last) || data.truncated(last);
}

}  // namespace

TransitionDataset with_marked_ends(const TransitionDataset& given) {
  const auto all = given.episodes();
  if (std::all_of(all.begin(), all.end(), [&](const auto& one) { return has_flag(given, one); })) {
    return given;
  }
  // Adding a step with a flag ends the episode, so end_episode() cannot pass the action after the
  // episode. Known next actions are therefore passed with give_next_actions().
  const auto data = with_known_next_actions(given);
  using Bytes = std::span<const unsigned char>;
  const auto obs_bytes = static_cast<size_t>(data.obs_space().bytes());
  const auto action_bytes = static_cast<size_t>(data.action_space().bytes());
  DatasetBuilder builder(data.obs_space(), data.action_space());
  std::vector<unsigned char> next_actions;
  std::vector<uint8_t> next_valid;
  for (const Episode& episode : data.episodes()) {
    const int64_t last = episode.first_row + episode.rows - 1;
    builder.begin_episode(Bytes(data.obs_bytes(episode.first_row), obs_bytes));
    for (int64_t row = episode.first_row; row <= last; ++row) {
      const bool terminated = data.terminated(row);
      builder.add(Bytes(data.action_bytes(row), action_bytes), data.reward(row),
                  Bytes(data.next_obs_bytes(row), obs_bytes), terminated,
                  data.truncated(row) || (row == last && !terminated));
      if (!data.has_next_actions()) continue;
      const auto next = Bytes(data.next_action_bytes(row), action_bytes);
      next_actions.insert(next_actions.end(), next.begin(), next.end());
      next_valid.push_back(data.next_action_valid(row) ? 1 : 0);
    }
  }
  if (data.has_next_actions()) {
    builder.give_next_actions(Bytes(next_actions), std::move(next_valid));
  }
  return std::move(builder).build().with_names(data.observation_names(), data.action_names());
}

}  // namespace rl_training
