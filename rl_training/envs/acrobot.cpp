#include "rl_training/envs/acrobot.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

using ArmState = std::array<double, 4>;

constexpr double kHalfTurn = std::numbers::pi;
constexpr double kArmTimeStep = 0.2;
constexpr double kArmGravity = 9.8;
constexpr double kMaxTurn1 = 4 * kHalfTurn, kMaxTurn2 = 9 * kHalfTurn;
// Both links have a mass, a length and a moment of inertia of 1. The centre of mass is in the
// middle of each link.
constexpr double kCenter = 0.5;

// Time derivative of the state under a constant torque.
ArmState arm_motion(const ArmState& state, double torque) {
  const auto [angle1, angle2, turn1, turn2] = state;
  const double cosine = std::cos(angle2), sine = std::sin(angle2);
  const double d1 = kCenter * kCenter + (1 + kCenter * kCenter + 2 * kCenter * cosine) + 1 + 1;
  const double d2 = (kCenter * kCenter + kCenter * cosine) + 1;
  const double phi2 = kCenter * kArmGravity * std::cos(angle1 + angle2 - kHalfTurn / 2);
  const double phi1 = -kCenter * (turn2 * turn2) * sine - 2 * kCenter * turn2 * turn1 * sine +
                      (kCenter + 1) * kArmGravity * std::cos(angle1 - kHalfTurn / 2) + phi2;
  const double turning2 = (torque + d2 / d1 * phi1 - kCenter * (turn1 * turn1) * sine - phi2) /
                          (kCenter * kCenter + 1 - d2 * d2 / d1);
  const double turning1 = -(d2 * turning2 + phi1) / d1;
  return {turn1, turn2, turning1, turning2};
}

ArmState moved(const ArmState& from, const ArmState& motion, double time) {
  ArmState to;
  for (size_t i = 0; i < to.size(); ++i) to[i] = from[i] + time * motion[i];
  return to;
}

// Returns the state after one classical Runge-Kutta step.
ArmState after_step(const ArmState& state, double torque) {
  constexpr double kHalf = kArmTimeStep / 2;
  const ArmState k1 = arm_motion(state, torque);
  const ArmState k2 = arm_motion(moved(state, k1, kHalf), torque);
  const ArmState k3 = arm_motion(moved(state, k2, kHalf), torque);
  const ArmState k4 = arm_motion(moved(state, k3, kArmTimeStep), torque);
  ArmState next;
  for (size_t i = 0; i < next.size(); ++i) {
    next[i] = state[i] + kArmTimeStep / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
  }
  return next;
}

// Wraps an angle to [-pi, pi].
double within_a_turn(double angle) {
  while (angle > kHalfTurn) angle -= 2 * kHalfTurn;
  while (angle < -kHalfTurn) angle += 2 * kHalfTurn;
  return angle;
}

}  // namespace

Acrobot::Acrobot() {
  const auto turn1 = static_cast<double>(static_cast<float>(kMaxTurn1));
  const auto turn2 = static_cast<double>(static_cast<float>(kMaxTurn2));
  spec_.id = "Acrobot-v1";
  spec_.observation = Space::box({-1, -1, -1, -1, -turn1, -turn2}, {1, 1, 1, 1, turn1, turn2});
  spec_.action = Space::discrete(3);
  spec_.max_episode_steps = 500;
  spec_.summary = "swing the tip of a two-link arm up with a torque at its joint";
}

void Acrobot::reset(Rng& rng, std::span<double> obs) {
  for (double& value : state_) value = static_cast<float>(rng.uniform(-0.1, 0.1));
  observe(obs);
}

StepResult Acrobot::step(std::span<const double> action, std::span<double> obs) {
  state_ = after_step(state_, action[0] - 1);
  state_[0] = within_a_turn(state_[0]);
  state_[1] = within_a_turn(state_[1]);
  state_[2] = std::clamp(state_[2], -kMaxTurn1, kMaxTurn1);
  state_[3] = std::clamp(state_[3], -kMaxTurn2, kMaxTurn2);
  observe(obs);
  const bool terminated = -std::cos(state_[0]) - std::cos(state_[1] + state_[0]) > 1;
  return {terminated ? 0.0 : -1.0, terminated, false};
}

void Acrobot::set_state(std::span<const double> state) {
  if (state.size() != state_.size()) {
    throw Error(ErrorKind::internal, "Acrobot-v1: the state has four entries");
  }
  std::copy(state.begin(), state.end(), state_.begin());
}

void Acrobot::observe(std::span<double> obs) const {
  const ArmState& s = state_;
  const std::array<double, 6> values = {std::cos(s[0]), std::sin(s[0]), std::cos(s[1]),
                                        std::sin(s[1]), s[2],           s[3]};
  for (size_t i = 0; i < values.size(); ++i) obs[i] = static_cast<float>(values[i]);
}

Scene Acrobot::scene() const {
  const Color link = {0.25, 0.62, 0.6}, dark = {0.15, 0.15, 0.17};
  const Point joint = {std::sin(state_[0]), -std::cos(state_[0])};
  const Point tip = {joint.x + std::sin(state_[0] + state_[1]),
                     joint.y - std::cos(state_[0] + state_[1])};
  const double reach = 2.2;
  return {{-reach, -reach},
          {reach, reach},
          {{{{-reach, 1}, {reach, 1}}, {0.6, 0.6, 0.62}, 0.02},
           {{{0, 0}, joint}, link, 0.2},
           {{joint, tip}, link, 0.2},
           {{{0, 0}}, dark, 0.12},
           {{joint}, dark, 0.12}}};
}

void Acrobot::visit_state(StateVisitor& state) {
  const std::array<int64_t, 1> shape = {4};
  state.array("state", DType::f64, shape, state_.data());
}

}  // namespace rl_training
