#include "rl_training/envs/mountain_car.h"

#include <algorithm>
#include <cmath>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr double kLeftEnd = -1.2;
constexpr double kRightEnd = 0.6;
constexpr double kMaxCarSpeed = 0.07;
constexpr double kSlope = 0.0025;

double hill(double x) { return 0.45 * std::sin(3 * x) + 0.55; }

double float_value(double value) { return static_cast<float>(value); }

}  // namespace

MountainCarTask::MountainCarTask(const Rules& rules) : rules_(rules) {
  spec_.observation = Space::box({float_value(kLeftEnd), float_value(-kMaxCarSpeed)},
                                 {float_value(kRightEnd), float_value(kMaxCarSpeed)});
}

void MountainCarTask::reset(Rng& rng, std::span<double> obs) {
  state_ = {rng.uniform(-0.6, -0.4), 0};
  observe(obs);
}

bool MountainCarTask::drive(double throttle) {
  auto [position, speed] = state_;
  speed += throttle * rules_.power - kSlope * std::cos(3 * position);
  speed = std::clamp(speed, -kMaxCarSpeed, kMaxCarSpeed);
  position = std::clamp(position + speed, kLeftEnd, kRightEnd);
  if (position == kLeftEnd && speed < 0) speed = 0;
  state_ = {position, speed};
  return position >= rules_.goal && speed >= 0;
}

MountainCar::MountainCar() : MountainCarTask({.power = 0.0015, .goal = 0.45}) {
  spec_.id = "MountainCarContinuous-v0";
  spec_.action = Space::box({-1}, {1});
  spec_.max_episode_steps = 999;
  spec_.summary = "drive an underpowered car out of a valley";
}

StepResult MountainCar::step(std::span<const double> action, std::span<double> obs) {
  const bool terminated = drive(std::clamp(action[0], -1.0, 1.0));
  for (double& value : state_) value = float_value(value);
  observe(obs);
  return {(terminated ? 100.0 : 0.0) - action[0] * action[0] * 0.1, terminated, false};
}

DiscreteMountainCar::DiscreteMountainCar() : MountainCarTask({.power = 0.001, .goal = 0.5}) {
  spec_.id = "MountainCar-v0";
  spec_.action = Space::discrete(3);
  spec_.max_episode_steps = 200;
  spec_.summary = "drive an underpowered car out of a valley, with three discrete actions";
}

StepResult DiscreteMountainCar::step(std::span<const double> action, std::span<double> obs) {
  const bool terminated = drive(action[0] - 1);
  observe(obs);
  return {-1.0, terminated, false};
}

void MountainCarTask::set_state(std::span<const double> state) {
  if (state.size() != state_.size()) {
    throw Error(ErrorKind::internal, spec_.id + ": the state has two entries");
  }
  std::copy(state.begin(), state.end(), state_.begin());
}

void MountainCarTask::observe(std::span<double> obs) const {
  std::transform(state_.begin(), state_.end(), obs.begin(), float_value);
}

Scene MountainCarTask::scene() const {
  const Color ground = {0.55, 0.66, 0.5}, car = {0.25, 0.42, 0.75}, dark = {0.15, 0.15, 0.17};
  const double margin = 0.1;
  Scene scene{{kLeftEnd - margin, -0.05}, {kRightEnd + margin, 1.25}, {}};
  Shape land{{{kLeftEnd - margin, -1}}, ground};
  for (double x = kLeftEnd - margin; x < kRightEnd + margin + 0.02; x += 0.02) {
    land.points.push_back({x, hill(x)});
  }
  land.points.push_back({kRightEnd + 2 * margin, -1});
  scene.shapes.push_back(land);
  const double goal = rules_.goal, pole = hill(goal), top = pole + 0.22;
  scene.shapes.push_back({{{goal, pole}, {goal, top}}, dark, 0.012});
  scene.shapes.push_back(
      {{{goal, top}, {goal, top - 0.08}, {goal + 0.12, top - 0.04}}, {0.85, 0.3, 0.25}});

  const double slope = std::atan(3 * 0.45 * std::cos(3 * state_[0]));
  const auto at = [&](double along, double above) {
    return Point{state_[0] + along * std::cos(slope) - above * std::sin(slope),
                 hill(state_[0]) + along * std::sin(slope) + above * std::cos(slope)};
  };
  scene.shapes.push_back(
      {{at(-0.1, 0.03), at(0.1, 0.03), at(0.09, 0.075), at(0.04, 0.115), at(-0.09, 0.115)}, car});
  for (const double wheel : {-0.055, 0.055}) {
    scene.shapes.push_back({{at(wheel, 0.03)}, dark, 0.06});
  }
  return scene;
}

void MountainCarTask::visit_state(StateVisitor& state) {
  const std::array<int64_t, 1> shape = {2};
  state.array("state", DType::f64, shape, state_.data());
}

}  // namespace rl_training
