#include "rl_training/envs/pendulum.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kTimeStep = 0.05;
constexpr double kGravity = 10.0;
constexpr double kMass = 1.0;
constexpr double kLength = 1.0;
constexpr double kMaxSpeed = 8.0;
constexpr double kMaxTorque = 2.0;

// Wraps an angle to [-pi, pi) with a floored modulo, as in Python.
double wrap_angle(double angle) {
  double rest = std::fmod(angle + kPi, 2 * kPi);
  if (rest < 0) rest += 2 * kPi;
  return rest - kPi;
}

}  // namespace

Pendulum::Pendulum() {
  spec_.id = "Pendulum-v1";
  spec_.observation = Space::box({-1, -1, -kMaxSpeed}, {1, 1, kMaxSpeed});
  spec_.action = Space::box({-kMaxTorque}, {kMaxTorque});
  spec_.max_episode_steps = 200;
  spec_.summary = "swing up a pendulum and hold it upright";
}

void Pendulum::reset(Rng& rng, std::span<double> obs) {
  state_[0] = rng.uniform(-kPi, kPi);
  state_[1] = rng.uniform(-1.0, 1.0);
  observe(obs);
}

StepResult Pendulum::step(std::span<const double> action, std::span<double> obs) {
  const auto [angle, speed] = state_;
  const double torque = std::clamp(action[0], -kMaxTorque, kMaxTorque);
  const double error = wrap_angle(angle);
  const double cost = error * error + 0.1 * (speed * speed) + 0.001 * (torque * torque);

  const double acceleration =
      3 * kGravity / (2 * kLength) * std::sin(angle) + 3.0 / (kMass * kLength * kLength) * torque;
  const double new_speed = std::clamp(speed + acceleration * kTimeStep, -kMaxSpeed, kMaxSpeed);
  state_ = {angle + new_speed * kTimeStep, new_speed};
  observe(obs);
  return {-cost, false, false};
}

void Pendulum::set_state(std::span<const double> state) {
  if (state.size() != state_.size()) {
    throw Error(ErrorKind::internal, "Pendulum-v1: the state has two entries");
  }
  std::copy(state.begin(), state.end(), state_.begin());
}

void Pendulum::observe(std::span<double> obs) const {
  obs[0] = static_cast<float>(std::cos(state_[0]));
  obs[1] = static_cast<float>(std::sin(state_[0]));
  obs[2] = static_cast<float>(state_[1]);
}

Scene Pendulum::scene() const {
  const Point hub, tip = {-kLength * std::sin(state_[0]), kLength * std::cos(state_[0])};
  const double reach = 1.4 * kLength;
  return {{-reach, -reach},
          {reach, reach},
          {{{hub, tip}, {0.8, 0.33, 0.33}, 0.2}, {{hub}, {0.15, 0.15, 0.17}, 0.09}}};
}

void Pendulum::visit_state(StateVisitor& state) {
  const std::array<int64_t, 1> shape = {2};
  state.array("state", DType::f64, shape, state_.data());
}

}  // namespace rl_training
