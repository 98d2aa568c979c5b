#pragma once
#include <array>
#include <cstdint>

#include "rl_training/envs/environment.h"

namespace rl_training {

// Shared part of both mountain car tasks: leave a valley with an engine that is too weak to climb
// out directly. All values equal Gymnasium's to the last bit.
class MountainCarTask : public Environment {
 public:
  const EnvSpec& spec() const override { return spec_; }
  void reset(Rng& rng, std::span<double> obs) override;
  std::vector<double> state() const override { return {state_.begin(), state_.end()}; }
  void set_state(std::span<const double> state) override;
  void observe(std::span<double> obs) const override;
  void visit_state(StateVisitor& state) override;
  Scene scene() const override;

 protected:
  struct Rules {
    double power, goal;  // acceleration at full throttle, position of the flag
  };
  explicit MountainCarTask(const Rules& rules);
  // Performs one step in double precision. Returns whether the car is at or beyond the flag and is
  // not rolling back.
  bool drive(double throttle);

  Rules rules_;
  EnvSpec spec_;
  std::array<double, 2> state_{};  // position, velocity
};

// MountainCarContinuous-v0. Each step is computed in double precision, and the state is then
// rounded to float32. The cost uses the unclipped action.
class MountainCar final : public MountainCarTask {
 public:
  MountainCar();
  StepResult step(std::span<const double> action, std::span<double> obs) override;
};

// MountainCar-v0: the engine pushes to the left (0), is off (1) or pushes to the right (2). Every
// step costs 1. The state has double precision.
class DiscreteMountainCar final : public MountainCarTask {
 public:
  DiscreteMountainCar();
  StepResult step(std::span<const double> action, std::span<double> obs) override;
};

}  // namespace rl_training
