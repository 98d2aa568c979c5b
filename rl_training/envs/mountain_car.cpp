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

// What the two tasks do not share.
struct CarRules {
  const char* id;
  double power, goal;
  int64_t max_episode_steps;
};
constexpr CarRules kContinuousRules = {"MountainCarContinuous-v0", 0.0015, 0.45, 999};
constexpr CarRules kDiscreteRules = {"MountainCar-v0", 0.001, 0.5, 200};

const CarRules& rules_of(MountainCar::Engine engine) {
  return engine == MountainCar::Engine::discrete ? kDiscreteRules : kContinuousRules;
}

double hill(double x) { return 0.45 * std::sin(3 * x) + 0.55; }

double float_value(double value) { return static_cast<float>(value); }

}  // namespace

MountainCar::MountainCar(Engine engine) : engine_(engine) {
  const bool discrete = engine == Engine::discrete;
  spec_.id = rules_of(engine).id;
  spec_.observation = Space::box({float_value(kLeftEnd), float_value(-kMaxCarSpeed)},
                                 {float_value(kRightEnd), float_value(kMaxCarSpeed)});
  spec_.action = discrete ? Space::discrete(3) : Space::box({-1}, {1});
  spec_.max_episode_steps = rules_of(engine).max_episode_steps;
  spec_.summary = discrete ? "drive an underpowered car out of a valley with three choices"
                           : "drive an underpowered car out of a valley";
}

void MountainCar::reset(Rng& rng, std::span<double> obs) {
  state_ = {rng.uniform(-0.6, -0.4), 0};
  observe(obs);
}

StepResult MountainCar::step(std::span<const double> action, std::span<double> obs) {
  const bool discrete = engine_ == Engine::discrete;
  const CarRules& rules = rules_of(engine_);
  auto [position, speed] = state_;
  const double force = discrete ? action[0] - 1 : std::clamp(action[0], -1.0, 1.0);
  speed += force * rules.power - kSlope * std::cos(3 * position);
  speed = std::clamp(speed, -kMaxCarSpeed, kMaxCarSpeed);
  position = std::clamp(position + speed, kLeftEnd, kRightEnd);
  if (position == kLeftEnd && speed < 0) speed = 0;

  const bool terminated = position >= rules.goal && speed >= 0;
  state_ = {position, speed};
  if (!discrete) state_ = {float_value(position), float_value(speed)};
  observe(obs);
  const double reward = discrete ? -1.0 : (terminated ? 100.0 : 0.0) - action[0] * action[0] * 0.1;
  return {reward, terminated, false};
}

void MountainCar::set_state(std::span<const double> state) {
  if (state.size() != state_.size()) {
    throw Error(ErrorKind::internal, spec_.id + ": the state has two entries");
  }
  std::copy(state.begin(), state.end(), state_.begin());
}

void MountainCar::observe(std::span<double> obs) const {
  std::transform(state_.begin(), state_.end(), obs.begin(), float_value);
}

Scene MountainCar::scene() const {
  const Color ground = {0.55, 0.66, 0.5}, car = {0.25, 0.42, 0.75}, dark = {0.15, 0.15, 0.17};
  const double margin = 0.1;
  Scene scene{{kLeftEnd - margin, -0.05}, {kRightEnd + margin, 1.25}, {}};
  Shape land{{{kLeftEnd - margin, -1}}, ground};
  for (double x = kLeftEnd - margin; x < kRightEnd + margin + 0.02; x += 0.02) {
    land.points.push_back({x, hill(x)});
  }
  land.points.push_back({kRightEnd + 2 * margin, -1});
  scene.shapes.push_back(land);
  const double goal = rules_of(engine_).goal, pole = hill(goal), top = pole + 0.22;
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

void MountainCar::visit_state(StateVisitor& state) {
  const std::array<int64_t, 1> shape = {2};
  state.array("state", DType::f64, shape, state_.data());
}

}  // namespace rl_training
