#pragma once
#include <optional>
#include <span>
#include <vector>

#include "rl_training/envs/maze_tasks.h"

namespace rl_training {

// Steers a ball of PointMaze to its goal: from cell to cell along a shortest path, by a PD law.
class MazeController {
 public:
  MazeController(const MazeTask& task, double position_gain, double speed_gain)
      : task_(&task), position_gain_(position_gain), speed_gain_(speed_gain) {}

  // Force in [-1, 1] along each axis for an observation of the task.
  Point push(std::span<const double> obs);
  // Replaces the observed goal; the observed goal cannot be restored.
  void set_detour(std::optional<MazeCell> to) { detour_ = to; }

 private:
  Point next_target(MazeCell from, Point goal);
  void find_distances(MazeCell goal);

  const MazeTask* task_;
  double position_gain_, speed_gain_;
  std::optional<MazeCell> detour_;
  MazeCell goal_cell_ = {-1, -1};   // to which the distances refer
  std::vector<int64_t> distances_;  // steps from cell to cell; -1 in walls
};

}  // namespace rl_training
