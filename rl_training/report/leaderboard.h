#pragma once
#include "rl_training/report/html.h"
#include "rl_training/report/tables.h"

namespace rl_training {

// A table with one row per method and one column per task. A method is an algorithm or, if an
// algorithm has several configs on one task, an algorithm with its differing keys.
struct Leaderboard {
  struct Cell {
    GroupFigures figures;
    size_t seeds = 0;
    bool best = false;       // has the largest IQM of its task
    bool near_best = false;  // its interval overlaps the interval of the best
  };
  struct Method {
    // `keys` is "learning_rate=0.001 ..." if the algorithm has several configs, and "" otherwise.
    std::string algo, keys;
    std::vector<std::optional<Cell>> cells;  // one per task
    // Statistics of the normalised scores of all tasks; the bootstrap resamples runs within tasks.
    // Set only if the method has values on every task and every task has reference scores.
    std::optional<GroupFigures> total;
    bool best_total = false, near_best_total = false;
    double mean_rank = 0;  // mean over tasks; a missing value counts as the last rank

    std::string name() const { return keys.empty() ? algo : algo + " " + keys; }
  };
  std::vector<std::string> tasks;
  // Best first: by the total, or by the mean rank if there is no total.
  std::vector<Method> methods;
  bool normalized = false;  // whether cells are normalised scores
};

Leaderboard make_leaderboard(const Report& report);

// The text table marks the best value of a task with *, and a value with ~ if its interval overlaps
// the interval of the best value. The Markdown and HTML tables use bold instead of *.
std::string leaderboard_text(const Leaderboard& board, size_t width);
std::string leaderboard_markdown(const Leaderboard& board);
std::string leaderboard_html(const Leaderboard& board, const PageOptions& options);
Json leaderboard_json(const Leaderboard& board);

}  // namespace rl_training
