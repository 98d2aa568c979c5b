#pragma once
#include "rl_training/report/html.h"
#include "rl_training/report/tables.h"

namespace rl_training {

// Table of methods by tasks. A method is an algorithm, with its differing keys if it has several
// configs on one task.
struct Leaderboard {
  struct Cell {
    GroupFigures figures;
    size_t seeds = 0;
    bool best = false;       // the largest IQM of its task
    bool near_best = false;  // its interval overlaps that of the best
  };
  struct Method {
    std::string algo, keys;                  // "learning_rate=0.001 ...", if there are several
    std::vector<std::optional<Cell>> cells;  // one per task
    // Over normalised scores of all tasks, with runs resampled within tasks. Exists only if the
    // method has values on every task and every task has reference scores.
    std::optional<GroupFigures> total;
    bool best_total = false, near_best_total = false;
    double mean_rank = 0;  // over tasks; a missing value counts as the last rank

    std::string name() const { return keys.empty() ? algo : algo + " " + keys; }
  };
  std::vector<std::string> tasks;
  std::vector<Method> methods;  // best first, by the total or else by the mean rank
  bool normalized = false;      // cells are normalised scores
};

Leaderboard make_leaderboard(const Report& report);

// Text marks the best with *, overlapping intervals with ~; Markdown and HTML with bold and ~.
std::string leaderboard_text(const Leaderboard& board, size_t width);
std::string leaderboard_markdown(const Leaderboard& board);
std::string leaderboard_html(const Leaderboard& board, const PageOptions& options);
Json leaderboard_json(const Leaderboard& board);

}  // namespace rl_training
