#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rl_training/envs/scene.h"

namespace rl_training {

struct MazeCell {
  int64_t row = 0, column = 0;
};

// Cells of a maze, row 0 first. A cell is a wall (#), free (.), or free and marked: r for resets, g
// for goals, c for both.
class MazeMap {
 public:
  explicit MazeMap(const std::string& rows);  // rows are separated by spaces

  void mark(char letter, const std::vector<MazeCell>& cells);
  int64_t rows() const { return static_cast<int64_t>(rows_.size()); }
  int64_t columns() const { return static_cast<int64_t>(rows_.front().size()); }
  // The cells marked with one of `letters`: first all cells with the first letter, then all with
  // the second, and so on. Cells with the same letter are ordered by row, then by column.
  std::vector<MazeCell> cells(const std::string& letters) const;
  // The cells in which goals and resets may be placed. These are the cells marked for that purpose,
  // or all unmarked free cells if the map has no such mark.
  std::vector<MazeCell> goals() const { return marked_or_free("gc"); }
  std::vector<MazeCell> resets() const { return marked_or_free("rc"); }

 private:
  std::vector<MazeCell> marked_or_free(const std::string& letters) const;

  std::vector<std::string> rows_;
};

enum class MazeBody { point, ant };
enum class MazeRules { gymnasium, d4rl };

struct MazeTask {
  std::string id = {}, summary = {};
  MazeBody body = MazeBody::point;
  MazeRules rules = MazeRules::gymnasium;
  int version = 0;
  bool dense = false;  // reward is exp(-distance) if true, else 1 at the goal and 0 elsewhere
  MazeMap map;
  int64_t max_episode_steps = 0;

  bool is_ant() const { return body == MazeBody::ant; }
  bool is_d4rl() const { return rules == MazeRules::d4rl; }
  double scale() const { return is_ant() ? 4 : 1; }  // edge length of a cell
  // Distance within which the goal counts as reached, in the coordinates of the body.
  double goal_radius() const { return is_d4rl() ? 0.5 : 0.45; }
  // The centre of a cell in the coordinates of the body.
  Point center(MazeCell cell) const;
  // The cell that contains `point`, in the coordinates of the body. Only for the tasks of
  // Gymnasium-Robotics.
  MazeCell cell_at(Point point) const;
  // Add this offset to x and y of the body to obtain world coordinates, which the drawing uses.
  double drawing_offset() const { return is_d4rl() && !is_ant() ? 1.2 : 0; }
  // The centre of the box that represents a wall cell, in world coordinates.
  Point wall(MazeCell cell) const;
};

// PointMaze and AntMaze of Gymnasium-Robotics, and maze2d and antmaze of D4RL.
const std::vector<MazeTask>& maze_tasks();
// Returns the task with this id, which must exist.
const MazeTask& maze_task(const std::string& id);

}  // namespace rl_training
