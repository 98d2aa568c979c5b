#pragma once
#include <memory>

#include "rl_training/envs/environment.h"

namespace rl_training {

// Truncates episodes after a number of steps. The flags of the inner task are passed on.
class TimeLimit final : public Environment {
 public:
  TimeLimit(std::unique_ptr<Environment> inner, int64_t max_episode_steps);

  const EnvSpec& spec() const override { return spec_; }
  void reset(Rng& rng, std::span<double> obs) override;
  StepResult step(std::span<const double> action, std::span<double> obs) override;
  std::vector<double> state() const override { return inner_->state(); }
  void set_state(std::span<const double> state) override;
  void observe(std::span<double> obs) const override { inner_->observe(obs); }
  void observe_pixels(std::span<uint8_t> image) const override { inner_->observe_pixels(image); }
  void visit_state(StateVisitor& state) override;
  Scene scene() const override { return inner_->scene(); }
  Photo photo(int width, int height) const override { return inner_->photo(width, height); }
  const GoalTask* goal_task() const override { return inner_->goal_task(); }

 private:
  std::unique_ptr<Environment> inner_;
  EnvSpec spec_;
  int64_t elapsed_steps_ = 0;
};

}  // namespace rl_training
