#pragma once
#include <array>
#include <cstdint>

#include "rl_training/envs/environment.h"

namespace rl_training {

// Leave a valley with an engine that is too weak to climb out directly. The values equal
// Gymnasium's to the last bit.
//
// MountainCarContinuous-v0: each step is computed in double and stored as float32 values, and the
// cost takes the action as it came, not the clipped one. MountainCar-v0: the engine pushes to the
// left (0), rests (1) or pushes to the right (2), and every step costs 1; the state stays in
// double.
class MountainCar final : public Environment {
 public:
  enum class Engine { continuous, discrete };
  explicit MountainCar(Engine engine = Engine::continuous);

  const EnvSpec& spec() const override { return spec_; }
  void reset(Rng& rng, std::span<double> obs) override;
  StepResult step(std::span<const double> action, std::span<double> obs) override;
  std::vector<double> state() const override { return {state_.begin(), state_.end()}; }
  void set_state(std::span<const double> state) override;
  void observe(std::span<double> obs) const override;
  void visit_state(StateVisitor& state) override;
  Scene scene() const override;

 private:
  Engine engine_;
  EnvSpec spec_;
  std::array<double, 2> state_{};  // position, velocity
};

}  // namespace rl_training
