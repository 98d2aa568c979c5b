#include "rl_training/envs/cart_pole.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr double kCartGravity = 9.8;
constexpr double kPoleMass = 0.1;
constexpr double kTotalMass = kPoleMass + 1.0;  // including the cart
constexpr double kHalfPole = 0.5;               // half of the pole's length
constexpr double kPoleMoment = kPoleMass * kHalfPole;
constexpr double kPush = 10.0;
constexpr double kCartTimeStep = 0.02;
constexpr double kTrackEnd = 2.4;
constexpr double kLargestTilt = 12 * 2 * std::numbers::pi / 360;

}  // namespace

CartPole::CartPole() {
  constexpr double kFree = std::numeric_limits<double>::infinity();
  // The bounds of the space are twice the termination bounds, so that the space contains the last
  // observation of an episode.
  const auto position = static_cast<double>(static_cast<float>(2 * kTrackEnd));
  const auto tilt = static_cast<double>(static_cast<float>(2 * kLargestTilt));
  spec_.id = "CartPole-v1";
  spec_.observation =
      Space::box({-position, -kFree, -tilt, -kFree}, {position, kFree, tilt, kFree});
  spec_.action = Space::discrete(2);
  spec_.max_episode_steps = 500;
  spec_.summary = "keep a pole on a cart upright by pushing to the left or to the right";
}

void CartPole::reset(Rng& rng, std::span<double> obs) {
  for (double& value : state_) value = rng.uniform(-0.05, 0.05);
  ended_ = false;
  observe(obs);
}

StepResult CartPole::step(std::span<const double> action, std::span<double> obs) {
  const auto [position, velocity, angle, turn] = state_;
  const double push = action[0] == 1 ? kPush : -kPush;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const double drive = (push + kPoleMoment * (turn * turn) * sine) / kTotalMass;
  const double turning = (kCartGravity * sine - cosine * drive) /
                         (kHalfPole * (4.0 / 3.0 - kPoleMass * (cosine * cosine) / kTotalMass));
  const double acceleration = drive - kPoleMoment * turning * cosine / kTotalMass;
  state_ = {position + kCartTimeStep * velocity, velocity + kCartTimeStep * acceleration,
            angle + kCartTimeStep * turn, turn + kCartTimeStep * turning};
  observe(obs);
  const bool terminated = std::abs(state_[0]) > kTrackEnd || std::abs(state_[2]) > kLargestTilt;
  const double reward = ended_ ? 0.0 : 1.0;
  ended_ = ended_ || terminated;
  return {reward, terminated, false};
}

void CartPole::set_state(std::span<const double> state) {
  if (state.size() != state_.size()) {
    throw Error(ErrorKind::internal, "CartPole-v1: the state has four entries");
  }
  std::copy(state.begin(), state.end(), state_.begin());
  ended_ = false;
}

void CartPole::observe(std::span<double> obs) const {
  for (size_t i = 0; i < state_.size(); ++i) obs[i] = static_cast<float>(state_[i]);
}

Scene CartPole::scene() const {
  const Color track = {0.55, 0.55, 0.58}, cart = {0.25, 0.42, 0.75}, pole = {0.8, 0.55, 0.33};
  const double edge = kTrackEnd + 0.4, x = state_[0], top = 0.3;
  const Point tip = {x + 2 * kHalfPole * std::sin(state_[2]),
                     top + 2 * kHalfPole * std::cos(state_[2])};
  Scene scene{{-edge, -0.6}, {edge, 1.8}, {}};
  scene.shapes.push_back({{{-kTrackEnd, 0}, {kTrackEnd, 0}}, track, 0.03});
  scene.shapes.push_back({{{x - 0.25, 0}, {x + 0.25, 0}, {x + 0.25, top}, {x - 0.25, top}}, cart});
  scene.shapes.push_back({{{x, top}, tip}, pole, 0.1});
  scene.shapes.push_back({{{x, top}}, {0.15, 0.15, 0.17}, 0.08});
  return scene;
}

void CartPole::visit_state(StateVisitor& state) {
  const std::array<int64_t, 1> shape = {4};
  state.array("state", DType::f64, shape, state_.data());
  state.scalar("ended", ended_);
}

}  // namespace rl_training
