#include "rl_training/data/sampler.h"

#include <algorithm>
#include <utility>

#include "rl_training/util/copy_few.h"
#include "rl_training/util/error.h"

namespace rl_training {

BatchView BatchView::part(int64_t first_row, int64_t count) const {
  const auto moved = [first_row](float* data, int64_t width) {
    return data == nullptr ? nullptr : data + first_row * width;
  };
  BatchView view = *this;
  view.rows = count;
  view.obs = moved(obs, obs_dim);
  view.next_obs = moved(next_obs, obs_dim);
  view.actions = moved(actions, action_dim);
  view.next_actions = moved(next_actions, action_dim);
  view.rewards = moved(rewards, 1);
  view.terminated = moved(terminated, 1);
  view.next_action_valid = moved(next_action_valid, 1);
  view.mc_returns = moved(mc_returns, 1);
  return view;
}

UniformSampler::UniformSampler(std::shared_ptr<const TransitionDataset> dataset,
                               ObsNormalizer normalizer, Rng rng)
    : dataset_(std::move(dataset)), normalizer_(std::move(normalizer)), rng_(rng) {
  if (dataset_->rows() == 0) throw Error(ErrorKind::data, "cannot sample from an empty dataset");
  if (normalizer_.obs_dim() != dataset_->obs_dim()) {
    throw Error(ErrorKind::internal, "normaliser and dataset differ in observation size");
  }
}

void UniformSampler::sample(const BatchView& batch) {
  if ((batch.next_actions || batch.next_action_valid) && !dataset_->has_next_actions()) {
    throw Error(ErrorKind::data, "the dataset has no next actions");
  }
  if (batch.mc_returns && !dataset_->has_mc_returns()) {
    throw Error(ErrorKind::data, "the dataset has no Monte-Carlo returns");
  }
  indices_.resize(static_cast<size_t>(batch.rows));
  rng_.fill_below(indices_, static_cast<uint64_t>(dataset_->rows()));
  prefetch_and_gather(batch);
}

// The rows lie anywhere in memory: each is asked for some time before it is touched, first the
// row, then, once that tells where they are, its observations and actions.
void UniformSampler::prefetch_and_gather(const BatchView& batch) const {
  constexpr int64_t kRowAhead = 16, kObsAhead = 8, kCacheLine = 64;
  const TransitionDataset& data = *dataset_;
  const int64_t obs_bytes = 2 * data.obs_dim() * static_cast<int64_t>(sizeof(float));
  for (int64_t i = -kRowAhead; i < batch.rows; ++i) {
    // The prefetches stay in this loop: GCC takes a function of nothing else for one without
    // effect and drops the call.
    if (i + kRowAhead < batch.rows) {
      const int64_t row = indices_[i + kRowAhead];
      __builtin_prefetch(data.row_address(row));
    }
    if (i + kObsAhead >= 0 && i + kObsAhead < batch.rows) {
      const int64_t row = indices_[i + kObsAhead];
      __builtin_prefetch(data.action(row));
      const char* first = reinterpret_cast<const char*>(data.obs(row));
      for (int64_t k = 0; k < obs_bytes; k += kCacheLine) __builtin_prefetch(first + k);
      __builtin_prefetch(first + obs_bytes - 1);
    }
    if (i >= 0) gather_row(batch, i);
  }
}

void UniformSampler::gather_row(const BatchView& batch, int64_t i) const {
  const int64_t row = indices_[i];
  const int64_t obs_dim = dataset_->obs_dim(), action_dim = dataset_->action_dim();
  const auto copy_action = [&](const float* action, float* out) {
    copy_few(action, action_dim, out + i * action_dim);
  };
  if (batch.obs) normalizer_.apply(dataset_->obs(row), batch.obs + i * obs_dim);
  if (batch.next_obs) normalizer_.apply(dataset_->next_obs(row), batch.next_obs + i * obs_dim);
  if (batch.actions) copy_action(dataset_->action(row), batch.actions);
  if (batch.rewards) batch.rewards[i] = dataset_->reward(row);
  if (batch.mc_returns) batch.mc_returns[i] = dataset_->mc_return(row);
  if (batch.terminated) batch.terminated[i] = dataset_->terminated(row) ? 1.0f : 0.0f;
  if (batch.next_actions) copy_action(dataset_->next_action(row), batch.next_actions);
  if (batch.next_action_valid) {
    batch.next_action_valid[i] = dataset_->next_action_valid(row) ? 1.0f : 0.0f;
  }
}

void UniformSampler::visit_state(StateVisitor& state) { state.part("rng", rng_); }

}  // namespace rl_training
