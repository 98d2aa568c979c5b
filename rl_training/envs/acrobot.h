#pragma once
#include <array>
#include <cstdint>

#include "rl_training/envs/environment.h"

namespace rl_training {

// Acrobot-v1: swing the tip of a two-link arm above a line. The actions 0, 1 and 2 apply a torque
// of -1, 0 and 1 at the joint between the links. As in Gymnasium, the initial state is rounded to
// float32, and later states have double precision.
class Acrobot final : public Environment {
 public:
  Acrobot();

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
  // Angle of the first link (0 hangs down), angle of the second link relative to the first, and
  // both angular velocities.
  std::array<double, 4> state_{};
};

}  // namespace rl_training
