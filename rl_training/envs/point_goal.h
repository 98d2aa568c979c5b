#pragma once
#include <cstdint>
#include <vector>

#include "rl_training/envs/environment.h"

namespace rl_training {

// RL-PointGoal1D-v0 and its 2D and 3D versions: move a point to a goal. Each step has a reward of
// -1 until the goal is reached. The observation is the position, then the goal. An episode ends at
// the goal (terminated) or after 50 steps (truncated), never with both flags. The task counts its
// steps itself, because the TimeLimit wrapper could set both flags. All values are computed in
// float32, as in the original Python implementation.
class PointGoal final : public Environment, public GoalTask {
 public:
  explicit PointGoal(int64_t dims);

  const EnvSpec& spec() const override { return spec_; }
  void reset(Rng& rng, std::span<double> obs) override;
  StepResult step(std::span<const double> action, std::span<double> obs) override;
  std::vector<double> state() const override;  // position, goal
  void set_state(std::span<const double> state) override;
  void observe(std::span<double> obs) const override;
  void visit_state(StateVisitor& state) override;
  Scene scene() const override;
  const GoalTask* goal_task() const override { return this; }

  int64_t goal_dim() const override { return static_cast<int64_t>(goal_.size()); }
  int64_t achieved_goal_at() const override { return 0; }
  int64_t desired_goal_at() const override { return goal_dim(); }
  double compute_reward(std::span<const double> achieved,
                        std::span<const double> desired) const override;
  bool compute_terminated(std::span<const double> achieved,
                          std::span<const double> desired) const override;

 private:
  EnvSpec spec_;
  std::vector<float> position_, goal_;
  int64_t steps_ = 0;
};

}  // namespace rl_training
