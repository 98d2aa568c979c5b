#pragma once
#include <optional>
#include <span>
#include <vector>

#include "rl_training/envs/maze_tasks.h"

namespace rl_training {

// Steers the ball of a PointMaze task to its goal. The ball moves from cell to cell along a
// shortest path; a PD law sets the force.
class MazeController {
 public:
  MazeController(const MazeTask& task, double position_gain, double speed_gain)
      : task_(&task), position_gain_(position_gain), speed_gain_(speed_gain) {}

  // Returns the force in [-1, 1] along each axis for an observation of the task.
  Point push(std::span<const double> obs);
  // Steers to the cell `to` instead of the observed goal; nullopt restores the observed goal.
  void set_detour(std::optional<MazeCell> to) { detour_ = to; }

 private:
  Point next_target(MazeCell from, Point goal);
  void find_distances(MazeCell goal);

  const MazeTask* task_;
  double position_gain_, speed_gain_;
  std::optional<MazeCell> detour_;
  MazeCell goal_cell_ = {-1, -1};  // the cell to which `distances_` refers
  // Number of steps from each cell to goal_cell_. Negative for walls and unreachable cells.
  std::vector<int64_t> distances_;
};

}  // namespace rl_training
