#include "rl_training/envs/time_limit.h"

#include <utility>

namespace rl_training {

TimeLimit::TimeLimit(std::unique_ptr<Environment> inner, int64_t max_episode_steps)
    : inner_(std::move(inner)), spec_(inner_->spec()) {
  spec_.max_episode_steps = max_episode_steps;
}

void TimeLimit::reset(Rng& rng, std::span<double> obs) {
  inner_->reset(rng, obs);
  elapsed_steps_ = 0;
}

StepResult TimeLimit::step(std::span<const double> action, std::span<double> obs) {
  StepResult result = inner_->step(action, obs);
  if (++elapsed_steps_ >= spec_.max_episode_steps) result.truncated = true;
  return result;
}

void TimeLimit::set_state(std::span<const double> state) {
  inner_->set_state(state);
  elapsed_steps_ = 0;
}

void TimeLimit::visit_state(StateVisitor& state) {
  state.part("env", *inner_);
  state.scalar("elapsed_steps", elapsed_steps_);
}

}  // namespace rl_training
