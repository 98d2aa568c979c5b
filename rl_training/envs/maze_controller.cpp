#include "rl_training/envs/maze_controller.h"

#include <algorithm>
#include <array>
#include <deque>

namespace rl_training {
namespace {

constexpr std::array<MazeCell, 4> kNeighbours = {{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}};

}  // namespace

Point MazeController::push(std::span<const double> obs) {
  const Point at = {obs[0], obs[1]}, wanted = {obs[2], obs[3]};
  const Point goal = detour_ ? task_->center(*detour_) : wanted;
  const Point target = next_target(task_->cell_at(at), goal);
  const auto law = [&](double error, double speed) {
    return std::clamp(position_gain_ * error - speed_gain_ * speed, -1.0, 1.0);
  };
  return {law(target.x - at.x, obs[6]), law(target.y - at.y, obs[7])};
}

// The centre of the next cell on the path, or the goal if `from` is the goal's cell.
Point MazeController::next_target(MazeCell from, Point goal) {
  find_distances(task_->cell_at(goal));
  const auto distance = [&](MazeCell cell) {
    return distances_[static_cast<size_t>(cell.row * task_->map.columns() + cell.column)];
  };
  for (const MazeCell& step : kNeighbours) {
    const MazeCell next = {from.row + step.row, from.column + step.column};
    if (distance(next) >= 0 && distance(next) == distance(from) - 1) return task_->center(next);
  }
  return goal;
}

void MazeController::find_distances(MazeCell goal) {
  if (goal.row == goal_cell_.row && goal.column == goal_cell_.column) return;
  goal_cell_ = goal;
  const int64_t columns = task_->map.columns();
  const auto at = [&](MazeCell cell) -> int64_t& {
    return distances_[static_cast<size_t>(cell.row * columns + cell.column)];
  };
  constexpr int64_t kUnknown = -2;
  distances_.assign(static_cast<size_t>(task_->map.rows() * columns), kUnknown);
  for (const MazeCell& wall : task_->map.cells("#")) at(wall) = -1;
  at(goal) = 0;
  for (std::deque<MazeCell> open = {goal}; !open.empty(); open.pop_front()) {
    for (const MazeCell& step : kNeighbours) {
      const MazeCell next = {open.front().row + step.row, open.front().column + step.column};
      if (at(next) != kUnknown) continue;
      at(next) = at(open.front()) + 1;
      open.push_back(next);
    }
  }
}

}  // namespace rl_training
