#include "rl_training/data/trajectory_windows.h"

#include <algorithm>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

const Episode& episode_of(const TransitionDataset& dataset, int64_t row) {
  const auto episodes = dataset.episodes();
  const auto after =
      std::upper_bound(episodes.begin(), episodes.end(), row,
                       [](int64_t r, const Episode& episode) { return r < episode.first_row; });
  return *(after - 1);
}

void fill_window(const TransitionDataset& dataset, int64_t index, TrajectoryWindows& windows) {
  const int64_t first = windows.first_rows[static_cast<size_t>(index)];
  const Episode& episode = episode_of(dataset, first);
  const int64_t end = episode.first_row + episode.rows;
  const int64_t steps = std::min(windows.length, end - first);
  double return_to_go = 0;
  for (int64_t row = end - 1; row >= first; --row) {
    return_to_go += dataset.reward(row);
    const int64_t step = row - first;
    if (step >= steps) continue;
    const int64_t at = index * windows.length + step;
    std::copy_n(dataset.obs(row), windows.obs_dim, windows.obs.data() + at * windows.obs_dim);
    std::copy_n(dataset.action(row), windows.action_dim,
                windows.actions.data() + at * windows.action_dim);
    const auto entry = static_cast<size_t>(at);
    windows.rewards[entry] = dataset.reward(row);
    windows.returns_to_go[entry] = static_cast<float>(return_to_go);
    windows.terminated[entry] = dataset.terminated(row) ? 1.0f : 0.0f;
    windows.mask[entry] = 1;
    windows.timesteps[entry] = row - episode.first_row;
  }
}

}  // namespace

TrajectoryWindows sample_trajectory_windows(const TransitionDataset& dataset, int64_t length,
                                            int64_t count, Rng& rng) {
  if (dataset.rows() == 0) throw Error(ErrorKind::data, "cannot sample from an empty dataset");
  if (length < 1 || count < 1) {
    throw Error(ErrorKind::data, {"", 0, "trajectory_window"}, "expected a length and count >= 1");
  }
  TrajectoryWindows windows;
  windows.count = count;
  windows.length = length;
  windows.obs_dim = dataset.obs_dim();
  windows.action_dim = dataset.action_dim();
  windows.first_rows.resize(static_cast<size_t>(count));
  rng.fill_below(windows.first_rows, static_cast<uint64_t>(dataset.rows()));
  const auto entries = static_cast<size_t>(count * length);
  windows.obs.assign(entries * static_cast<size_t>(windows.obs_dim), 0.0f);
  windows.actions.assign(entries * static_cast<size_t>(windows.action_dim), 0.0f);
  for (auto* column :
       {&windows.rewards, &windows.returns_to_go, &windows.terminated, &windows.mask}) {
    column->assign(entries, 0.0f);
  }
  windows.timesteps.assign(entries, 0);
  for (int64_t i = 0; i < count; ++i) fill_window(dataset, i, windows);
  return windows;
}

}  // namespace rl_training
