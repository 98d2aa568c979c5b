#include "rl_training/runtime/hindsight.h"

#include <algorithm>

#include "rl_training/util/error.h"

namespace rl_training {

HindsightSampler::HindsightSampler(const ReplayBuffer& buffer, const ObsNormalizer& normalizer,
                                   BatchRequest request, const GoalTask& task,
                                   const RewardTransform& reward, const HindsightOptions& options,
                                   Rng rng)
    : buffer_(buffer),
      normalizer_(normalizer),
      request_(std::move(request)),
      task_(task),
      reward_(reward),
      options_(options),
      rng_(rng),
      obs_(static_cast<size_t>(buffer.obs_space().size())),
      achieved_(static_cast<size_t>(task.goal_dim())),
      desired_(achieved_.size()) {
  check_replay_columns(request_);
  check_hindsight(request_);
}

void check_hindsight(const BatchRequest& request) {
  if (request.has(BatchColumn::return_to_go)) {
    throw Error(ErrorKind::config, {"", 0, "her"},
                "hindsight changes the rewards of single rows, but the algorithm learns from "
                "returns of whole episodes (expected no her)");
  }
  if (request.priorities.used) {
    throw Error(ErrorKind::config, {"", 0, "her"},
                "hindsight draws rows uniformly, but the algorithm draws them by priority "
                "(expected no her)");
  }
  if (request.n_step == 1) return;
  throw Error(ErrorKind::config, {"", 0, "n_step"},
              "hindsight relabels single steps (expected n_step: 1 with her, got " +
                  std::to_string(request.n_step) + ")");
}

void HindsightSampler::sample(const BatchView& batch) {
  const int64_t relabelled = batch.rows * options_.k / (options_.k + 1);
  for (int64_t i = 0; i < batch.rows; ++i) {
    const int64_t row = draw_finished_row();
    buffer_.gather(row, normalizer_, request_, batch, i);
    if (i < relabelled) relabel(row, batch, i);
  }
}

// Draws until the row belongs to a finished episode. At most the last episode of each environment
// is unfinished, so few draws are rejected.
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
  if (options_.strategy == HindsightOptions::Strategy::final) begin = end;
  if (options_.strategy == HindsightOptions::Strategy::episode) {
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
  const auto with_goal = [&](const float* obs, unsigned char* out) {
    std::copy_n(obs, obs_.size(), obs_.begin());
    std::copy_n(goal, dims, obs_.begin() + desired_at);
    normalizer_.apply(reinterpret_cast<const unsigned char*>(obs_.data()),
                      out + i * batch.obs_bytes);
  };
  if (batch.obs) with_goal(buffer_.obs(row), batch.obs);
  if (batch.next_obs) with_goal(buffer_.next_obs(row), batch.next_obs);
  if (!batch.reward && !batch.discount && !batch.terminated) return;
  std::copy_n(buffer_.next_obs(row) + achieved_at, dims, achieved_.begin());
  std::copy_n(goal, dims, desired_.begin());
  if (batch.reward) {
    batch.reward[i] = static_cast<float>(reward_.apply(task_.compute_reward(achieved_, desired_)));
  }
  // A row that terminated without reaching its goal is a failure, which ends the episode for any
  // goal.
  const bool failed = buffer_.terminated(row) && !reached_goal(task_, buffer_.next_obs(row));
  const bool ends = failed || task_.compute_terminated(achieved_, desired_);
  if (batch.terminated) batch.terminated[i] = ends ? 1.0f : 0.0f;
  if (batch.discount) batch.discount[i] = ends ? 0.0f : static_cast<float>(request_.gamma);
}

}  // namespace rl_training
