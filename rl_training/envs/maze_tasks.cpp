#include "rl_training/envs/maze_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

namespace rl_training {
namespace {

using Cells = std::vector<MazeCell>;

struct Layout {
  const char* name;  // in Gymnasium-Robotics
  const char* d4rl_name;
  const char* rows;
  int64_t point_steps, ant_steps;  // time limits
  Cells diverse;                   // marked cells of the diverse variants; empty: no such variants
  MazeCell point_goal, ant_goal;   // goals in D4RL
};

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> table = {
      {"UMaze", "umaze", "##### #...# ###.# #...# #####", 300, 700, {}, {1, 1}, {3, 1}},
      {"Open",
       "open",
       "####### #.....# #.....# #.....# #######",
       300,
       700,
       MazeMap("####### #.....# #.....# #.....# #######").cells("."),
       {2, 3},
       {}},
      {"Medium",
       "medium",
       "######## #..##..# #..#...# ##...### #..#...# #.#..#.# #...#..# ########",
       600,
       1000,
       {{1, 1}, {2, 6}, {5, 1}, {6, 5}},
       {6, 6},
       {6, 6}},
      {"Large",
       "large",
       "############ #....#.....# #.##.#.#.#.# #......#...# #.####.###.# #..#.#.....# "
       "##.#.#.#.### #..#...#...# ############",
       800,
       1000,
       {{1, 1}, {1, 6}, {3, 5}, {3, 10}, {5, 2}, {7, 4}, {7, 6}, {7, 9}},
       {7, 9},
       {7, 9}},
  };
  return table;
}

std::string gymnasium_summary(const MazeTask& task, const std::string& name) {
  return fmt::format("{} to a goal in maze {}{}", task.is_ant() ? "walk an ant" : "push a ball",
                     name, task.dense ? ", dense reward" : "");
}

// Adds each layout and its diverse variants. In "_Diverse_G", all episodes start in one cell, and
// goals are drawn from several marked cells. In "_Diverse_GR", starts are also drawn from the
// marked cells.
void add_gymnasium(std::vector<MazeTask>& tasks, MazeBody body, int version) {
  for (const Layout& layout : layouts()) {
    std::vector<std::pair<std::string, MazeMap>> variants = {{layout.name, MazeMap(layout.rows)}};
    if (!layout.diverse.empty()) {
      MazeMap fixed(layout.rows), free(layout.rows);
      fixed.mark('g', layout.diverse);
      fixed.mark('r', {layout.diverse.front()});
      free.mark('c', layout.diverse);
      variants.emplace_back(std::string(layout.name) + "_Diverse_G", fixed);
      variants.emplace_back(std::string(layout.name) + "_Diverse_GR", free);
    }
    for (const auto& [name, map] : variants) {
      for (const bool dense : {false, true}) {
        const bool ant = body == MazeBody::ant;
        MazeTask task{.body = body,
                      .rules = MazeRules::gymnasium,
                      .version = version,
                      .dense = dense,
                      .map = map,
                      .max_episode_steps = ant ? layout.ant_steps : layout.point_steps};
        task.id = (ant ? "AntMaze_" : "PointMaze_") + name + (dense ? "Dense-v" : "-v") +
                  std::to_string(version);
        task.summary = gymnasium_summary(task, name);
        tasks.push_back(std::move(task));
      }
    }
  }
}

void add_maze2d(std::vector<MazeTask>& tasks) {
  for (const Layout& layout : layouts()) {
    const std::string name = layout.d4rl_name;
    for (const bool dense : {false, true}) {
      MazeTask task{.body = MazeBody::point,
                    .rules = MazeRules::d4rl,
                    .version = name == "open" ? 0 : 1,
                    .dense = dense,
                    .map = MazeMap(layout.rows),
                    .max_episode_steps = name == "open" ? 150 : layout.point_steps};
      task.map.mark('g', {layout.point_goal});
      task.id = "maze2d-" + name + (dense ? "-dense" : "") + "-v" + std::to_string(task.version);
      task.summary = "D4RL's ball in maze " + name + (dense ? ", dense reward" : "");
      tasks.push_back(std::move(task));
    }
  }
}

void add_antmaze(std::vector<MazeTask>& tasks) {
  // The part of the id after the size names the dataset. All datasets of a size use the same task.
  const std::pair<const char*, std::vector<const char*>> ids[] = {{"umaze", {"", "-diverse"}},
                                                                  {"medium", {"-play", "-diverse"}},
                                                                  {"large", {"-play", "-diverse"}}};
  for (const auto& [name, data] : ids) {
    for (const Layout& layout : layouts()) {
      if (layout.d4rl_name != std::string(name)) continue;
      for (const char* suffix : data) {
        MazeTask task{.body = MazeBody::ant,
                      .rules = MazeRules::d4rl,
                      .version = 2,
                      .map = MazeMap(layout.rows),
                      .max_episode_steps = layout.ant_steps};
        task.map.mark('r', {{1, 1}});
        task.map.mark('g', {layout.ant_goal});
        task.id = std::string("antmaze-") + name + suffix + "-v2";
        task.summary = std::string("D4RL's ant in maze ") + name;
        tasks.push_back(std::move(task));
      }
    }
  }
}

}  // namespace

MazeMap::MazeMap(const std::string& rows) {
  std::istringstream in(rows);
  for (std::string row; in >> row;) rows_.push_back(row);
}

void MazeMap::mark(char letter, const std::vector<MazeCell>& cells) {
  for (const MazeCell& cell : cells) {
    rows_[static_cast<size_t>(cell.row)][static_cast<size_t>(cell.column)] = letter;
  }
}

std::vector<MazeCell> MazeMap::cells(const std::string& letters) const {
  std::vector<MazeCell> found;
  for (const char letter : letters) {
    for (int64_t row = 0; row < rows(); ++row) {
      for (int64_t column = 0; column < columns(); ++column) {
        if (rows_[static_cast<size_t>(row)][static_cast<size_t>(column)] == letter) {
          found.push_back({row, column});
        }
      }
    }
  }
  return found;
}

std::vector<MazeCell> MazeMap::marked_or_free(const std::string& letters) const {
  auto marked = cells(letters);
  return marked.empty() ? cells(".") : marked;
}

Point MazeTask::center(MazeCell cell) const {
  const auto row = static_cast<double>(cell.row), column = static_cast<double>(cell.column);
  if (is_d4rl()) {
    // The row index determines x for the ball and y for the ant. The ant's start cell (1, 1) is at
    // the origin.
    if (!is_ant()) return {row, column};
    return {scale() * column - scale(), scale() * row - scale()};
  }
  const auto width = static_cast<double>(map.columns()), height = static_cast<double>(map.rows());
  return {(column + 0.5) * scale() - width / 2 * scale(),
          height / 2 * scale() - (row + 0.5) * scale()};
}

MazeCell MazeTask::cell_at(Point point) const {
  const auto width = static_cast<double>(map.columns()), height = static_cast<double>(map.rows());
  return {static_cast<int64_t>(std::floor(height / 2 - point.y / scale())),
          static_cast<int64_t>(std::floor(point.x / scale() + width / 2))};
}

// Converts center() from body coordinates to world coordinates. The two differ only in D4RL's
// maze2d. There, the ball's origin is at (1.2, 1.2) in the world, but the walls are placed as if it
// were at (1, 1). Each wall box is therefore off the true centre of its cell by -0.2 along each
// axis. We reproduce this.
Point MazeTask::wall(MazeCell cell) const {
  const Point at = center(cell);
  const double offset = is_d4rl() && !is_ant() ? 1 : 0;
  return {at.x + offset, at.y + offset};
}

const std::vector<MazeTask>& maze_tasks() {
  static const std::vector<MazeTask> tasks = [] {
    std::vector<MazeTask> list;
    add_gymnasium(list, MazeBody::point, 3);
    add_gymnasium(list, MazeBody::ant, 4);
    add_gymnasium(list, MazeBody::ant, 5);
    add_maze2d(list);
    add_antmaze(list);
    return list;
  }();
  return tasks;
}

const MazeTask& maze_task(const std::string& id) {
  const auto& all = maze_tasks();
  return *std::find_if(all.begin(), all.end(), [&](const MazeTask& task) { return task.id == id; });
}

}  // namespace rl_training
