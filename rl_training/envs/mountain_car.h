#pragma once
#include <array>
#include <cstdint>

#include "rl_training/envs/environment.h"

namespace rl_training {

// MountainCarContinuous-v0: leave a valley with an engine that is too weak to climb out directly.
// The numbers equal Gymnasium's to the last bit: each step is computed in double and stored as
// float32 values, and the cost takes the action as it came, not the clipped one.
class MountainCar final : public Environment {
 public:
  MountainCar();

  const EnvSpec& spec() const override { return spec_; }
  void reset(Rng& rng, std::span<double> obs) override;
  StepResult step(std::span<const double> action, std::span<double> obs) override;
  std::vector<double> state() const override { return {state_.begin(), state_.end()}; }
  void set_state(std::span<const double> state) override;
  void observe(std::span<double> obs) const override;
  void visit_state(StateVisitor& state) override;
  Scene scene() const override;

 private:
  EnvSpec spec_;
  std::array<double, 2> state_{};  // position, velocity
};

}  // namespace rl_training
