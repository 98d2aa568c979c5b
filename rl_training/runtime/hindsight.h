#pragma once
#include "rl_training/algorithms/phases.h"
#include "rl_training/data/replay_sampler.h"
#include "rl_training/data/reward_transform.h"
#include "rl_training/envs/environment.h"

namespace rl_training {

// Throws Error{config} if the requested rows cannot be relabelled. Rows must not span several steps
// or contain returns, because only the reward of a single step is recomputed for a new goal. Rows
// must not be drawn by priority, because hindsight draws them uniformly.
void check_hindsight(const BatchRequest& request);

// Hindsight experience replay (arXiv:1707.01495): in a fraction k / (k + 1) of the rows of each
// batch, the desired goal is replaced by a goal that was achieved in the same episode, and the
// reward is recomputed. Draws rows from finished episodes only.
class HindsightSampler final : public Sampler {
 public:
  HindsightSampler(const ReplayBuffer& buffer, const ObsNormalizer& normalizer,
                   BatchRequest request, const GoalTask& task, const RewardTransform& reward,
                   const HindsightOptions& options, Rng rng);

  int64_t rows() const override { return buffer_.has_finished_episode() ? buffer_.rows() : 0; }
  void sample(const BatchView& batch) override;
  void visit_state(StateVisitor& state) override { state.part("rng", rng_); }

 private:
  int64_t draw_finished_row();
  int64_t draw_goal_row(int64_t row);
  void relabel(int64_t row, const BatchView& batch, int64_t i);

  const ReplayBuffer& buffer_;
  const ObsNormalizer& normalizer_;
  BatchRequest request_;
  const GoalTask& task_;
  RewardTransform reward_;
  HindsightOptions options_;
  Rng rng_;
  std::vector<float> obs_;
  std::vector<double> achieved_, desired_;
};

}  // namespace rl_training
