#include "rl_training/envs/mountain_car.h"

#include <algorithm>
#include <cmath>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr double kLeftEnd = -1.2;
constexpr double kRightEnd = 0.6;
constexpr double kMaxSpeed = 0.07;
constexpr double kGoalPosition = 0.45;
constexpr double kPower = 0.0015;
constexpr double kSlope = 0.0025;

double float_value(double value) { return static_cast<float>(value); }

}  // namespace

MountainCar::MountainCar() {
  spec_.id = "MountainCarContinuous-v0";
  spec_.obs_dim = 2;
  spec_.obs_low = {float_value(kLeftEnd), float_value(-kMaxSpeed)};
  spec_.obs_high = {float_value(kRightEnd), float_value(kMaxSpeed)};
  spec_.action = {{-1}, {1}};
  spec_.max_episode_steps = 999;
  spec_.summary = "drive an underpowered car out of a valley";
}

void MountainCar::reset(Rng& rng, std::span<double> obs) {
  state_ = {rng.uniform(-0.6, -0.4), 0};
  observe(obs);
}

StepResult MountainCar::step(std::span<const double> action, std::span<double> obs) {
  auto [position, speed] = state_;
  const double force = std::clamp(action[0], -1.0, 1.0);
  speed += force * kPower - kSlope * std::cos(3 * position);
  speed = std::clamp(speed, -kMaxSpeed, kMaxSpeed);
  position = std::clamp(position + speed, kLeftEnd, kRightEnd);
  if (position == kLeftEnd && speed < 0) speed = 0;

  const bool terminated = position >= kGoalPosition && speed >= 0;
  state_ = {float_value(position), float_value(speed)};
  observe(obs);
  return {(terminated ? 100.0 : 0.0) - action[0] * action[0] * 0.1, terminated, false};
}

void MountainCar::set_state(std::span<const double> state) {
  if (state.size() != state_.size()) {
    throw Error(ErrorKind::internal, "MountainCarContinuous-v0: the state has two entries");
  }
  std::copy(state.begin(), state.end(), state_.begin());
}

void MountainCar::observe(std::span<double> obs) const {
  std::transform(state_.begin(), state_.end(), obs.begin(), float_value);
}

void MountainCar::visit_state(StateVisitor& state) {
  const std::array<int64_t, 1> shape = {2};
  state.array("state", DType::f64, shape, state_.data());
}

}  // namespace rl_training
