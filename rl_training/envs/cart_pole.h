#pragma once
#include <array>
#include <cstdint>

#include "rl_training/envs/environment.h"

namespace rl_training {

// CartPole-v1: keep a pole upright by pushing its cart to the left (0) or to the right (1). All
// values equal Gymnasium's to the last bit: the state has double precision, and observations are
// rounded to float32. A step after the end of an episode has a reward of 0.
class CartPole final : public Environment {
 public:
  CartPole();

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
  std::array<double, 4> state_{};  // position, velocity, angle (0 is upright), angular velocity
  bool ended_ = false;
};

}  // namespace rl_training
