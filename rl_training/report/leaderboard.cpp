#include "rl_training/report/leaderboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "rl_training/util/text.h"

namespace rl_training {
namespace {

using Cell = Leaderboard::Cell;
using Method = Leaderboard::Method;

bool overlaps(const GroupFigures& a, const GroupFigures& b) {
  if (!a.interval || !b.interval) return false;
  return a.interval->low <= b.interval->high && b.interval->low <= a.interval->high;
}

GroupFigures figures_of(const Strata& strata) {
  const auto all = pooled(strata);
  return {mean_of(all), interquartile_mean(all), median_of(all),
          bootstrap_interval(strata, interquartile_mean)};
}

void mark_best(std::vector<Method>& methods, size_t task) {
  const Cell* best = nullptr;
  for (auto& method : methods) {
    const auto& cell = method.cells[task];
    if (cell && (best == nullptr || cell->figures.iqm > best->figures.iqm)) best = &*cell;
  }
  for (auto& method : methods) {
    auto& cell = method.cells[task];
    if (!cell) continue;
    cell->best = &*cell == best;
    cell->near_best = !cell->best && overlaps(cell->figures, best->figures);
  }
}

void mark_best_total(std::vector<Method>& methods) {
  const Method* best = nullptr;
  for (const auto& method : methods) {
    if (method.total && (best == nullptr || method.total->iqm > best->total->iqm)) best = &method;
  }
  for (auto& method : methods) {
    if (!method.total) continue;
    method.best_total = &method == best;
    method.near_best_total = !method.best_total && overlaps(*method.total, *best->total);
  }
}

void rank_methods(std::vector<Method>& methods) {
  for (auto& method : methods) {
    double sum = 0;
    for (size_t task = 0; task < method.cells.size(); ++task) {
      const auto& own = method.cells[task];
      sum += static_cast<double>(
          1 + std::count_if(methods.begin(), methods.end(), [&](const Method& other) {
            const auto& cell = other.cells[task];
            return cell && (!own || cell->figures.iqm > own->figures.iqm);
          }));
    }
    method.mean_rank = sum / static_cast<double>(method.cells.size());
  }
  std::stable_sort(methods.begin(), methods.end(), [](const Method& a, const Method& b) {
    if (a.total.has_value() != b.total.has_value()) return a.total.has_value();
    return a.total ? a.total->iqm > b.total->iqm : a.mean_rank < b.mean_rank;
  });
}

std::string cell_figures(const GroupFigures& figures) {
  const auto iqm = figure_text(figures.iqm);
  return figures.interval ? iqm + " " + interval_text(figures.interval) : iqm;
}

std::string cell_text(const Cell& cell) {
  return fmt::format("{} (n={})", cell_figures(cell.figures), cell.seeds);
}

std::string mark(bool best, bool near_best) { return best ? "*" : near_best ? "~" : ""; }

std::string plain_cell(const std::optional<Cell>& cell) {
  if (!cell) return "-";
  return cell_text(*cell) + mark(cell->best, cell->near_best);
}

std::string legend_text(const Leaderboard& board, const char* best) {
  return fmt::format(
      "{}: interquartile mean over n seeds with its 95 % bootstrap interval. "
      "Best: {}; interval overlaps that of the best: ~.{}",
      board.normalized ? "Normalised scores" : "Returns", best,
      board.normalized ? " all tasks: runs resampled within tasks." : "");
}

// With a single task, a column for all tasks would only repeat the column of that task.
bool has_total(const Leaderboard& board) { return board.normalized && board.tasks.size() > 1; }

// A table of the tasks [first, last).
Table board_table(const Leaderboard& board, size_t first, size_t last, bool with_total) {
  Table table(1);
  table[0].title = "method";
  for (const auto& method : board.methods) table[0].cells.push_back(printable(method.algo));
  if (with_total) {
    TableColumn column{"all tasks", {}, true};
    for (const auto& method : board.methods) {
      column.cells.push_back(method.total ? cell_figures(*method.total) +
                                                mark(method.best_total, method.near_best_total)
                                          : "-");
    }
    table.push_back(std::move(column));
  }
  for (size_t task = first; task < last; ++task) {
    TableColumn column{printable(board.tasks[task]), {}, true};
    for (const auto& method : board.methods) column.cells.push_back(plain_cell(method.cells[task]));
    table.push_back(std::move(column));
  }
  return table;
}

Json figures_json(const GroupFigures& figures) {
  const auto& interval = figures.interval;
  return {{"iqm", json_number(figures.iqm)},
          {"mean", json_number(figures.mean)},
          {"median", json_number(figures.median)},
          {"low", interval ? json_number(interval->low) : Json()},
          {"high", interval ? json_number(interval->high) : Json()}};
}

std::string html_cell(const std::string& text, double value, bool best, bool near_best) {
  const auto shown = best ? "<b>" + html_escaped(text) + "</b>" : html_escaped(text);
  return fmt::format("<td class=\"number\" data-v=\"{}\">{}{}</td>", value, shown,
                     near_best ? " ~" : "");
}

}  // namespace

Leaderboard make_leaderboard(const Report& report) {
  Leaderboard board;
  board.normalized = !report.tasks.empty();
  for (const auto& task : report.tasks) {
    board.tasks.push_back(task.name());
    board.normalized = board.normalized && task.normalized(0).has_value();
  }
  struct MethodRuns {
    std::string shown_keys;
    Strata values;
  };
  // The runs of each method, by algorithm and differing keys.
  std::map<std::pair<std::string, std::vector<KeyValue>>, MethodRuns> runs;
  for (size_t i = 0; i < report.tasks.size(); ++i) {
    for (const auto& group : report.tasks[i].groups) {
      auto& method = runs[{group.algo, group.differing_keys}];
      method.shown_keys =
          group.label().substr(std::min(group.label().size(), group.algo.size() + 1));
      method.values.resize(report.tasks.size());
      for (const double value : group.known_values()) {
        method.values[i].push_back(board.normalized ? *report.tasks[i].normalized(value) : value);
      }
    }
  }
  for (const auto& [name, of_method] : runs) {
    Method method;
    method.algo = name.first;
    method.keys = of_method.shown_keys;
    bool complete = board.normalized;
    for (const auto& scores : of_method.values) {
      complete = complete && !scores.empty();
      method.cells.push_back(
          scores.empty() ? std::nullopt : std::optional(Cell{figures_of({scores}), scores.size()}));
    }
    if (complete) method.total = figures_of(of_method.values);
    board.methods.push_back(std::move(method));
  }
  for (size_t i = 0; i < board.tasks.size(); ++i) mark_best(board.methods, i);
  mark_best_total(board.methods);
  rank_methods(board.methods);
  return board;
}

// Prints the table in several blocks, one below the other, if not all tasks fit into the width.
std::string leaderboard_text(const Leaderboard& board, size_t width) {
  std::string text;
  std::vector<std::string> keys;
  for (const auto& method : board.methods) keys.push_back(printable(method.keys));
  for (size_t first = 0; first < board.tasks.size();) {
    const bool with_total = first == 0 && has_total(board);
    size_t last = first + 1;
    const auto block = [&](size_t end) { return board_table(board, first, end, with_total); };
    while (last < board.tasks.size() && table_width(block(last + 1)) <= width) ++last;
    text += (text.empty() ? "" : "\n") + fit_table(block(last), width, keys).text;
    first = last;
  }
  return text + "\n" + wrapped_text(legend_text(board, "*"), width);
}

std::string leaderboard_markdown(const Leaderboard& board) {
  auto table = board_table(board, 0, board.tasks.size(), has_total(board));
  for (size_t row = 0; row < board.methods.size(); ++row) {
    table[0].cells[row] = printable(board.methods[row].name());
  }
  return markdown_table(table, /*bold_stars=*/true) + "\n" + legend_text(board, "**bold**") + "\n";
}

std::string leaderboard_html(const Leaderboard& board, const PageOptions& options) {
  std::string body = "<p class=\"soft\">" + html_escaped(legend_text(board, "bold")) +
                     "</p><section class=\"card\"><div class=\"scroll\">"
                     "<table class=\"sortable\"><thead><tr><th>method</th>";
  const bool with_total = has_total(board);
  if (with_total) body += "<th class=\"number\">all tasks</th>";
  for (const auto& task : board.tasks)
    body += "<th class=\"number\">" + html_escaped(task) + "</th>";
  body += "</tr></thead><tbody>\n";
  for (const auto& method : board.methods) {
    body += "<tr><td class=\"method\">" + html_escaped(method.algo);
    if (!method.keys.empty()) body += "<div class=\"soft\">" + html_escaped(method.keys) + "</div>";
    body += "</td>";
    if (with_total) {
      body += method.total ? html_cell(cell_figures(*method.total), method.total->iqm,
                                       method.best_total, method.near_best_total)
                           : "<td class=\"number\" data-v=\"-1e308\">-</td>";
    }
    for (const auto& cell : method.cells) {
      body += cell ? html_cell(cell_text(*cell), cell->figures.iqm, cell->best, cell->near_best)
                   : "<td class=\"number\" data-v=\"-1e308\">-</td>";
    }
    body += "</tr>\n";
  }
  return html_document("Leaderboard", body + "</tbody></table></div></section>\n", "{\"tasks\":[]}",
                       options);
}

Json leaderboard_json(const Leaderboard& board) {
  Json methods = Json::array();
  for (const auto& method : board.methods) {
    Json cells = Json::array();
    for (const auto& cell : method.cells) {
      if (!cell) {
        cells.push_back(nullptr);
        continue;
      }
      auto json = figures_json(cell->figures);
      json["seeds"] = cell->seeds;
      json["best"] = cell->best;
      json["overlaps_best"] = cell->near_best;
      cells.push_back(std::move(json));
    }
    methods.push_back({{"method", method.name()},
                       {"tasks", cells},
                       {"all", method.total ? figures_json(*method.total) : Json()}});
  }
  return {{"tasks", board.tasks}, {"normalized", board.normalized}, {"methods", methods}};
}

}  // namespace rl_training
