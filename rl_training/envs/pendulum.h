#pragma once
#include <array>
#include <cstdint>

#include "rl_training/envs/environment.h"

namespace rl_training {

// Pendulum-v1: swing up a rod and hold it upright with a torque that is too weak to lift it
// directly. All values equal Gymnasium's to the last bit: the state has double precision, and
// observations are rounded to float32. The task never terminates.
class Pendulum final : public Environment {
 public:
  Pendulum();

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
  std::array<double, 2> state_{};  // angle (0 is upright, never wrapped), angular velocity
};

}  // namespace rl_training
