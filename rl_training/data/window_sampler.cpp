#include "rl_training/data/window_sampler.h"

#include <algorithm>
#include <cstring>
#include <utility>

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

// Sets `count` steps from index `first` on to zero. These steps are after the end of the episode.
void clear_steps(const BatchView& batch, int64_t first, int64_t count) {
  const auto clear = [&]<class T>(T* data, int64_t width) {
    if (data != nullptr) std::fill_n(data + first * width, count * width, T{0});
  };
  clear(batch.obs, batch.obs_bytes);
  clear(batch.action, batch.action_bytes);
  for (float* column : {batch.reward, batch.terminated, batch.return_to_go, batch.mask}) {
    clear(column, 1);
  }
  clear(batch.timestep, 1);
}

void fill_window(const TransitionDataset& data, const ObsNormalizer& normalizer, int64_t first,
                 const BatchView& batch, int64_t index) {
  const Episode& episode = episode_of(data, first);
  const int64_t steps = std::min(batch.steps, episode.first_row + episode.rows - first);
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t row = first + step, at = index * batch.steps + step;
    if (batch.obs) normalizer.apply(data.obs_bytes(row), batch.obs + at * batch.obs_bytes);
    if (batch.action) {
      copy_entry(data.action_bytes(row), batch.action_bytes,
                 batch.action + at * batch.action_bytes);
    }
    if (batch.reward) batch.reward[at] = data.reward(row);
    if (batch.return_to_go) batch.return_to_go[at] = data.return_to_go(row);
    if (batch.terminated) batch.terminated[at] = data.terminated(row) ? 1.0f : 0.0f;
    if (batch.mask) batch.mask[at] = 1.0f;
    if (batch.timestep) batch.timestep[at] = row - episode.first_row;
  }
  clear_steps(batch, index * batch.steps + steps, batch.steps - steps);
}

}  // namespace

WindowSampler::WindowSampler(std::shared_ptr<const TransitionDataset> dataset,
                             ObsNormalizer normalizer, const BatchRequest& request, Rng rng)
    : dataset_(std::move(dataset)), normalizer_(std::move(normalizer)), rng_(rng) {
  using enum BatchColumn;
  check_columns(request, {obs, action, reward, terminated, return_to_go, timestep, mask},
                "a dataset of episodes");
  if (dataset_->rows() == 0) throw Error(ErrorKind::data, "cannot sample from an empty dataset");
  if (request.has(return_to_go) && !dataset_->has_returns_to_go()) {
    throw Error(ErrorKind::data, {"", 0, column_name(return_to_go)},
                "the dataset has no returns to go");
  }
  for (const Episode& episode : dataset_->episodes()) {
    if (request.max_steps == 0 || episode.rows <= request.max_steps) continue;
    throw Error(ErrorKind::data, {"", 0, "max_episode_length"},
                "the dataset has longer episodes (expected at most " +
                    std::to_string(request.max_steps) + " steps, got " +
                    std::to_string(episode.rows) + ")");
  }
  normalizer_.check(dataset_->obs_space());
}

void WindowSampler::sample(const BatchView& batch) {
  first_rows_.resize(static_cast<size_t>(batch.rows));
  rng_.fill_below(first_rows_, static_cast<uint64_t>(dataset_->rows()));
  for (int64_t i = 0; i < batch.rows; ++i) {
    fill_window(*dataset_, normalizer_, first_rows_[static_cast<size_t>(i)], batch, i);
  }
}

TrajectoryWindows sample_trajectory_windows(const TransitionDataset& dataset, int64_t length,
                                            int64_t count, Rng& rng) {
  if (dataset.rows() == 0) throw Error(ErrorKind::data, "cannot sample from an empty dataset");
  if (length < 1 || count < 1) {
    throw Error(ErrorKind::data, {"", 0, "trajectory_window"}, "expected a length and count >= 1");
  }
  if (dataset.obs_space().dtype != DType::f32 || dataset.action_space().dtype != DType::f32) {
    throw Error(ErrorKind::data, {"", 0, "trajectory_window"},
                "expected vectors of observations and continuous actions");
  }
  TrajectoryWindows windows;
  windows.count = count;
  windows.length = length;
  windows.obs_dim = dataset.obs_dim();
  windows.action_dim = dataset.action_dim();
  windows.first_rows.resize(static_cast<size_t>(count));
  rng.fill_below(windows.first_rows, static_cast<uint64_t>(dataset.rows()));
  const auto entries = static_cast<size_t>(count * length);
  windows.obs.resize(entries * static_cast<size_t>(windows.obs_dim));
  windows.actions.resize(entries * static_cast<size_t>(windows.action_dim));
  for (auto* column :
       {&windows.rewards, &windows.returns_to_go, &windows.terminated, &windows.mask}) {
    column->resize(entries);
  }
  windows.timesteps.resize(entries);

  BatchView view;
  view.rows = count;
  view.steps = length;
  view.obs_bytes = dataset.obs_space().bytes();
  view.action_bytes = dataset.action_space().bytes();
  view.obs = reinterpret_cast<unsigned char*>(windows.obs.data());
  view.action = reinterpret_cast<unsigned char*>(windows.actions.data());
  view.reward = windows.rewards.data();
  view.return_to_go = windows.returns_to_go.data();
  view.terminated = windows.terminated.data();
  view.mask = windows.mask.data();
  view.timestep = windows.timesteps.data();
  const auto with_returns = dataset.with_returns_to_go({.gamma = 1.0});
  const ObsNormalizer unchanged(dataset.obs_space());
  for (int64_t i = 0; i < count; ++i) {
    fill_window(with_returns, unchanged, windows.first_rows[static_cast<size_t>(i)], view, i);
  }
  return windows;
}

}  // namespace rl_training
