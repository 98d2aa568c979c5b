#include "rl_training/data/sampler.h"

#include <algorithm>
#include <utility>

#include "rl_training/util/error.h"

namespace rl_training {

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
  indices_.resize(static_cast<size_t>(batch.rows));
  rng_.fill_below(indices_, static_cast<uint64_t>(dataset_->rows()));
  // The rows lie anywhere in memory: ask for all of them before touching the first.
  for (const int64_t row : indices_) dataset_->prefetch_row(row);
  for (const int64_t row : indices_) dataset_->prefetch_obs(row);
  gather_scalars(batch);
  gather_actions(batch);
  gather_obs(batch);
}

void UniformSampler::gather_obs(const BatchView& batch) const {
  const int64_t dims = dataset_->obs_dim();
  for (int64_t i = 0; i < batch.rows; ++i) {
    const float* obs = dataset_->obs(indices_[i]);
    if (batch.obs) normalizer_.apply(obs, batch.obs + i * dims);
    if (batch.next_obs) normalizer_.apply(obs + dims, batch.next_obs + i * dims);
  }
}

void UniformSampler::gather_actions(const BatchView& batch) const {
  const int64_t dims = dataset_->action_dim();
  for (int64_t i = 0; i < batch.rows; ++i) {
    const int64_t row = indices_[i];
    if (batch.actions) std::copy_n(dataset_->action(row), dims, batch.actions + i * dims);
    if (batch.next_actions) {
      std::copy_n(dataset_->next_action(row), dims, batch.next_actions + i * dims);
    }
  }
}

void UniformSampler::gather_scalars(const BatchView& batch) const {
  for (int64_t i = 0; i < batch.rows; ++i) {
    const int64_t row = indices_[i];
    if (batch.rewards) batch.rewards[i] = dataset_->reward(row);
    if (batch.terminated) batch.terminated[i] = dataset_->terminated(row) ? 1.0f : 0.0f;
    if (batch.next_action_valid) {
      batch.next_action_valid[i] = dataset_->next_action_valid(row) ? 1.0f : 0.0f;
    }
  }
}

void UniformSampler::visit_state(StateVisitor& state) { state.part("rng", rng_); }

}  // namespace rl_training
