#include "rl_training/runtime/hindsight.h"

#include <algorithm>

namespace rl_training {

HindsightSampler::HindsightSampler(const ReplayBuffer& buffer, const ObsNormalizer& normalizer,
                                   const GoalTask& task, const RewardTransform& reward,
                                   const HindsightOptions& options, Rng rng)
    : buffer_(buffer),
      normalizer_(normalizer),
      task_(task),
      reward_(reward),
      options_(options),
      rng_(rng),
      obs_(static_cast<size_t>(buffer.obs_dim())),
      achieved_(static_cast<size_t>(task.goal_dim())),
      desired_(achieved_.size()) {}

void HindsightSampler::sample(const BatchView& batch) {
  const int64_t relabelled = batch.rows * options_.k / (options_.k + 1);
  for (int64_t i = 0; i < batch.rows; ++i) {
    const int64_t row = draw_finished_row();
    buffer_.gather(row, normalizer_, batch, i);
    if (i < relabelled) relabel(row, batch, i);
  }
}

// At most the last episode of each environment is unfinished, so few draws are in vain.
int64_t HindsightSampler::draw_finished_row() {
  while (true) {
    const auto offset = static_cast<int64_t>(rng_.below(static_cast<uint64_t>(buffer_.rows())));
    const int64_t row = buffer_.first() + offset;
    if (buffer_.episode_end(row) >= 0) return row;
  }
}

int64_t HindsightSampler::draw_goal_row(int64_t row) {
  const int64_t end = buffer_.episode_end(row), stride = buffer_.streams();
  int64_t begin = row;
  if (options_.strategy == "final") begin = end;
  if (options_.strategy == "episode") {
    begin = buffer_.episode_begin(row);
    const int64_t gone = std::max<int64_t>(0, buffer_.first() - begin);
    begin += (gone + stride - 1) / stride * stride;
  }
  const auto choices = static_cast<uint64_t>((end - begin) / stride + 1);
  return begin + static_cast<int64_t>(rng_.below(choices)) * stride;
}

void HindsightSampler::relabel(int64_t row, const BatchView& batch, int64_t i) {
  const int64_t achieved_at = task_.achieved_goal_at(), desired_at = task_.desired_goal_at();
  const auto dims = static_cast<size_t>(task_.goal_dim());
  const float* goal = buffer_.next_obs(draw_goal_row(row)) + achieved_at;
  const auto with_goal = [&](const float* obs, float* out) {
    std::copy_n(obs, obs_.size(), obs_.begin());
    std::copy_n(goal, dims, obs_.begin() + desired_at);
    normalizer_.apply(obs_.data(), out + i * batch.obs_dim);
  };
  with_goal(buffer_.obs(row), batch.obs);
  with_goal(buffer_.next_obs(row), batch.next_obs);
  std::copy_n(buffer_.next_obs(row) + achieved_at, dims, achieved_.begin());
  std::copy_n(goal, dims, desired_.begin());
  batch.rewards[i] = static_cast<float>(reward_.apply(task_.compute_reward(achieved_, desired_)));
  // A task that failed stays at its end, whatever was wanted.
  const bool failed = buffer_.terminated(row) && !reached_goal(task_, buffer_.next_obs(row));
  const bool ends = failed || task_.compute_terminated(achieved_, desired_);
  batch.terminated[i] = ends ? 1.0f : 0.0f;
}

}  // namespace rl_training
