#include "rl_training/envs/point_goal.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr int64_t kMaxSteps = 50;
constexpr double kThreshold = 0.05;
constexpr float kActionScale = 0.1f;
constexpr float kBound = 2.0f;
constexpr float kSpread = 1.0f;  // starts and goals are drawn from [-kSpread, kSpread]

void draw(Rng& rng, std::vector<float>& out) {
  for (float& value : out) value = static_cast<float>(rng.uniform(-kSpread, kSpread));
}

// Computes numpy.allclose(position, goal, atol=kThreshold), as in the original Python
// implementation.
bool starts_at_goal(const std::vector<float>& position, const std::vector<float>& goal) {
  constexpr float kRelative = 1e-5f;
  for (size_t i = 0; i < goal.size(); ++i) {
    const float tolerance = static_cast<float>(kThreshold) + kRelative * std::abs(goal[i]);
    if (std::abs(position[i] - goal[i]) > tolerance) return false;
  }
  return true;
}

// Computes the distance in float32 and compares it with the threshold in double.
bool within_threshold(std::span<const double> achieved, std::span<const double> desired) {
  float sum = 0;
  for (size_t i = 0; i < desired.size(); ++i) {
    const float difference = static_cast<float>(achieved[i]) - static_cast<float>(desired[i]);
    sum += difference * difference;
  }
  return static_cast<double>(std::sqrt(sum)) <= kThreshold;
}

}  // namespace

PointGoal::PointGoal(int64_t dims)
    : position_(static_cast<size_t>(dims)), goal_(static_cast<size_t>(dims)) {
  const auto size = static_cast<size_t>(dims);
  spec_.id = "RL-PointGoal" + std::to_string(dims) + "D-v0";
  spec_.observation =
      Space::box(std::vector<double>(2 * size, -kBound), std::vector<double>(2 * size, kBound));
  spec_.action = Space::unit_box(dims);
  spec_.summary = "move a point to a goal in " + std::to_string(kMaxSteps) + " steps (" +
                  std::to_string(dims) + "-dimensional, sparse reward)";
}

void PointGoal::reset(Rng& rng, std::span<double> obs) {
  draw(rng, position_);
  draw(rng, goal_);
  if (starts_at_goal(position_, goal_)) {
    for (float& value : goal_) value = std::clamp(value + 0.5f, -kSpread, kSpread);
  }
  steps_ = 0;
  observe(obs);
}

StepResult PointGoal::step(std::span<const double> action, std::span<double> obs) {
  for (size_t i = 0; i < position_.size(); ++i) {
    const float clipped = std::clamp(static_cast<float>(action[i]), -1.0f, 1.0f);
    position_[i] = std::clamp(position_[i] + kActionScale * clipped, -kBound, kBound);
  }
  ++steps_;
  observe(obs);
  const auto achieved = obs.first(position_.size());
  const auto desired = obs.subspan(position_.size());
  const bool terminated = compute_terminated(achieved, desired);
  return {compute_reward(achieved, desired), terminated, steps_ >= kMaxSteps && !terminated};
}

std::vector<double> PointGoal::state() const {
  std::vector<double> all(position_.begin(), position_.end());
  all.insert(all.end(), goal_.begin(), goal_.end());
  return all;
}

void PointGoal::set_state(std::span<const double> state) {
  if (state.size() != position_.size() + goal_.size()) {
    throw Error(ErrorKind::internal, spec_.id + ": the state is position and goal");
  }
  for (size_t i = 0; i < position_.size(); ++i) {
    position_[i] = static_cast<float>(state[i]);
    goal_[i] = static_cast<float>(state[position_.size() + i]);
  }
  steps_ = 0;
}

void PointGoal::observe(std::span<double> obs) const {
  std::copy(position_.begin(), position_.end(), obs.begin());
  std::copy(goal_.begin(), goal_.end(), obs.begin() + goal_dim());
}

double PointGoal::compute_reward(std::span<const double> achieved,
                                 std::span<const double> desired) const {
  return within_threshold(achieved, desired) ? 0 : -1;
}

bool PointGoal::compute_terminated(std::span<const double> achieved,
                                   std::span<const double> desired) const {
  return within_threshold(achieved, desired);
}

// Draws the first two dimensions as position and the third as size.
Scene PointGoal::scene() const {
  const auto place = [](const std::vector<float>& at) {
    return Point{at[0], at.size() > 1 ? at[1] : 0.0f};
  };
  const auto size = [](const std::vector<float>& at) {
    return at.size() > 2 ? 0.1 + 0.04 * at[2] : 0.1;
  };
  const double reach = kBound + 0.1, height = goal_.size() > 1 ? reach : 0.4;
  Scene scene{{-reach, -height}, {reach, height}, {}};
  scene.shapes.push_back({{{-kBound, 0}, {kBound, 0}}, {0.8, 0.8, 0.8}, 0.01});
  if (goal_.size() > 1) {
    scene.shapes.push_back({{{0, -kBound}, {0, kBound}}, {0.8, 0.8, 0.8}, 0.01});
  }
  scene.shapes.push_back({{place(goal_)}, {0.35, 0.68, 0.42}, 2 * size(goal_)});
  scene.shapes.push_back({{place(position_)}, {0.25, 0.42, 0.75}, size(position_)});
  return scene;
}

void PointGoal::visit_state(StateVisitor& state) {
  const std::array<int64_t, 1> shape = {goal_dim()};
  state.array("position", DType::f32, shape, position_.data());
  state.array("goal", DType::f32, shape, goal_.data());
  state.scalar("steps", steps_);
}

}  // namespace rl_training
