#include "rl_training/report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr size_t kGap = 2;

size_t column_width(const TableColumn& column) {
  size_t width = display_width(column.title);
  for (const auto& cell : column.cells) width = std::max(width, display_width(cell));
  return width;
}

std::string padded(const std::string& text, size_t width, bool right) {
  const size_t own = display_width(text);
  const std::string space(width > own ? width - own : 0, ' ');
  return right ? space + text : text + space;
}

std::string aligned_line(const Table& table, const std::vector<size_t>& widths,
                         const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    line += (i > 0 ? std::string(kGap, ' ') : "") + padded(cells[i], widths[i], table[i].number);
  }
  line.resize(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::vector<std::string> row_of(const Table& table, size_t row) {
  std::vector<std::string> cells;
  for (const auto& column : table) cells.push_back(column.cells[row]);
  return cells;
}

std::string state_text(const RunGroup& group) {
  std::vector<std::string> parts;
  for (const auto state : {RunState::running, RunState::unfinished, RunState::failed}) {
    if (const auto n = group.count(state)) {
      parts.push_back(fmt::format("{} {}", n, run_state_name(state)));
    }
  }
  if (const auto n = group.resumed()) parts.push_back(fmt::format("{} resumed", n));
  return join(parts, ", ");
}

// Keys with their names, or the state, of one row.
std::string told_below(const Table& table, int keep, size_t row) {
  std::string text;
  for (const auto& column : table) {
    if (column.keep != keep || column.cells[row].empty()) continue;
    text += (keep == TableColumn::kKey ? column.title + "=" : "") + column.cells[row] + "  ";
  }
  return text;
}

std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("|\\`*_<>[]").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

bool same_everywhere(const std::vector<std::string>& cells) {
  return std::all_of(cells.begin(), cells.end(),
                     [&](const std::string& cell) { return cell == cells.front(); });
}

void add_key_columns(const ReportTask& task, Table& table) {
  std::vector<std::string> names;
  for (const auto& group : task.groups) {
    for (const auto& [key, value] : group.differing_keys) {
      if (std::find(names.begin(), names.end(), key) == names.end()) names.push_back(key);
    }
  }
  for (const auto& name : names) {
    TableColumn column{printable(name), {}, false, TableColumn::kKey};
    for (const auto& group : task.groups) {
      const auto found = std::find_if(group.differing_keys.begin(), group.differing_keys.end(),
                                      [&](const KeyValue& pair) { return pair.first == name; });
      column.cells.push_back(found == group.differing_keys.end() ? "" : printable(found->second));
    }
    table.push_back(std::move(column));
  }
}

template <class Cell>
void add_column(const ReportTask& task, Table& table, const std::string& title, int keep,
                bool number, const Cell& cell) {
  TableColumn column{title, {}, number, keep};
  for (const auto& group : task.groups) column.cells.push_back(cell(group));
  table.push_back(std::move(column));
}

std::string value_or_dash(const std::optional<double>& value) {
  return value ? figure_text(*value) : "-";
}

std::string seed_values(const RunGroup& group) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < group.runs.size(); ++i) {
    parts.push_back(fmt::format("{}: {}", group.runs[i].seed, value_or_dash(group.values[i])));
  }
  return join(parts, ", ");
}

// Estimates of `select`, by seed where there are several.
std::string estimates_text(const RunGroup& group) {
  std::vector<std::string> parts;
  for (const auto& run : group.runs) {
    if (!run.estimate) continue;
    parts.push_back(fmt::format("{} (rank {:g} of {})", figure_text(run.estimate->value),
                                run.estimate->rank, run.estimate->candidates));
  }
  return join(parts, ", ");
}

std::string commits_text(const RunGroup& group) {
  std::set<std::string> commits;
  for (const auto& run : group.runs) commits.insert(printable(run.commit));
  return join({commits.begin(), commits.end()}, ", ");
}

}  // namespace

std::string figure_text(double value) {
  const double size = std::abs(value);
  return size >= 100 ? fmt::format("{:.1f}", value)
         : size >= 1 ? fmt::format("{:.2f}", value)
                     : fmt::format("{:.4f}", value);
}

std::string interval_text(const std::optional<ConfidenceInterval>& interval) {
  if (!interval) return "-";
  return fmt::format("[{}, {}]", figure_text(interval->low), figure_text(interval->high));
}

std::string steps_text(const RunGroup& group) {
  const auto slowest = [&](int64_t RunRecord::*field) {
    int64_t least = group.runs.front().*field;
    for (const auto& run : group.runs) least = std::min(least, run.*field);
    return least;
  };
  const auto& first = group.runs.front();
  const bool online = group.runs.front().has_online;
  const int64_t done = slowest(online ? &RunRecord::env_steps : &RunRecord::updates);
  const int64_t planned = online ? first.planned_env_steps : first.planned_updates;
  const auto text = done >= planned ? std::to_string(done) : fmt::format("{} of {}", done, planned);
  return online && first.planned_updates > 0 ? fmt::format("{}+{}", first.planned_updates, text)
                                             : text;
}

std::string clock_title(const ReportTask& task) {
  bool offline = false, online = false;
  for (const auto& group : task.groups) {
    const auto& run = group.runs.front();
    online = online || run.has_online;
    offline = offline || !run.has_online || run.planned_updates > 0;
  }
  return offline && online ? "updates+env steps" : online ? "env steps" : "updates";
}

std::string dataset_text(const RunDataset& dataset) {
  if (dataset.rows == 0) return "";
  auto text = fmt::format("{} rows in {} episodes", dataset.rows, dataset.episodes);
  if (dataset.return_mean)
    text += fmt::format(", mean return {}", figure_text(*dataset.return_mean));
  return text;
}

Table group_table(const ReportTask& task) {
  Table table;
  add_column(task, table, "algo", TableColumn::kAlways, false,
             [](const RunGroup& group) { return printable(group.algo); });
  add_key_columns(task, table);
  add_column(task, table, "seeds", TableColumn::kAlways, true,
             [](const RunGroup& group) { return std::to_string(group.known_values().size()); });
  add_column(task, table, clock_title(task), 80, true, steps_text);
  add_column(task, table, "IQM", TableColumn::kAlways, true, [](const RunGroup& group) {
    return group.figures ? figure_text(group.figures->iqm) : "-";
  });
  add_column(task, table, "95 % interval", TableColumn::kAlways, true, [](const RunGroup& group) {
    return group.figures ? interval_text(group.figures->interval) : "-";
  });
  add_column(task, table, "mean", 70, true, [](const RunGroup& group) {
    return group.figures ? figure_text(group.figures->mean) : "-";
  });
  add_column(task, table, "median", 40, true, [](const RunGroup& group) {
    return group.figures ? figure_text(group.figures->median) : "-";
  });
  if (task.normalized(0)) {
    add_column(task, table, "score", 75, true, [&](const RunGroup& group) {
      return group.figures ? value_or_dash(task.normalized(group.figures->iqm)) : "-";
    });
  }
  if (task.groups.size() > 1) {
    add_column(task, table, "best wins", 60, true, [](const RunGroup& group) {
      return group.best_wins ? fmt::format("{:.2f}", *group.best_wins) : "";
    });
  }
  add_column(task, table, "estimate", 50, false, estimates_text);
  if (same_everywhere(table.back().cells) && table.back().cells.front().empty()) table.pop_back();
  add_column(task, table, "state", TableColumn::kState, false, state_text);
  if (same_everywhere(table.back().cells) && table.back().cells.front().empty()) table.pop_back();
  return table;
}

size_t table_width(const Table& table) {
  size_t width = 0;
  for (const auto& column : table) width += column_width(column) + kGap;
  return width > 0 ? width - kGap : 0;
}

std::string fit_table(Table table, size_t width, const std::vector<std::string>& extra_lines) {
  std::vector<std::string> below(table.front().cells.size());
  for (size_t i = 0; i < extra_lines.size(); ++i) below[i] = extra_lines[i];
  while (table_width(table) > width) {
    const auto least = std::min_element(
        table.begin(), table.end(),
        [](const TableColumn& a, const TableColumn& b) { return a.keep < b.keep; });
    if (least->keep == TableColumn::kAlways) break;
    const int going = least->keep;
    for (size_t i = 0; i < below.size() && going >= TableColumn::kState; ++i) {
      below[i] += told_below(table, going, i);
    }
    if (going == TableColumn::kKey) {  // half of the keys beside and half below would confuse
      std::erase_if(table,
                    [](const TableColumn& column) { return column.keep == TableColumn::kKey; });
    } else {
      table.erase(least);
    }
  }
  std::vector<size_t> widths;
  std::vector<std::string> titles, rules;
  for (const auto& column : table) {
    widths.push_back(column_width(column));
    titles.push_back(column.title);
    rules.emplace_back(widths.back(), '-');
  }
  std::string text = aligned_line(table, widths, titles) + aligned_line(table, widths, rules);
  for (size_t i = 0; i < below.size(); ++i) {
    text += aligned_line(table, widths, row_of(table, i));
    text += wrapped_text(below[i], width, "    ");
  }
  return text;
}

std::string wrapped_text(const std::string& words, size_t width, const std::string& indent) {
  std::istringstream in(words);
  std::string text, line;
  for (std::string word; in >> word;) {
    if (!line.empty() && display_width(indent + line) + 1 + display_width(word) > width) {
      text += indent + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? text : text + indent + line + "\n";
}

std::string markdown_table(const Table& table, bool bold_stars) {
  std::string header = "|", rule = "|", text;
  for (const auto& column : table) {
    header += " " + markdown_cell(column.title) + " |";
    rule += column.number ? "---:|" : "---|";
  }
  for (size_t i = 0; i < table.front().cells.size(); ++i) {
    text += "|";
    for (const auto& column : table) {
      auto cell = column.cells[i];
      const bool bold = bold_stars && cell.ends_with('*');
      if (bold) cell.pop_back();
      cell = markdown_cell(cell);
      text += " " + (bold ? "**" + cell + "**" : cell) + " |";
    }
    text += "\n";
  }
  return header + "\n" + rule + "\n" + text;
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::vector<std::string> quoted;
  for (const auto& cell : cells) {
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
      quoted.push_back(cell);
      continue;
    }
    std::string text = "\"";
    for (const char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    quoted.push_back(text + "\"");
  }
  std::string line;
  for (size_t i = 0; i < quoted.size(); ++i) line += (i > 0 ? "," : "") + quoted[i];
  return line + "\n";
}

std::string report_text(const Report& report, size_t width) {
  std::string text;
  for (const auto& task : report.tasks) {
    text += (text.empty() ? "" : "\n") + printable(task.name()) + "\n";
    if (const auto data = dataset_text(task.dataset); !data.empty()) text += "data: " + data + "\n";
    text += "\n" + fit_table(group_table(task), width);
  }
  const auto legend = fmt::format(
      "Returns of the {}: interquartile mean (IQM) over seeds with its 95 % bootstrap "
      "interval. best wins: probability that a run of the first row is better.",
      choice_name(report.choice));
  return text + "\n" + wrapped_text(legend, width);
}

std::string report_markdown(const Report& report) {
  std::string text;
  for (const auto& task : report.tasks) {
    auto table = group_table(task);
    add_column(task, table, choice_name(report.choice) + " by seed", 0, false, seed_values);
    add_column(task, table, "commit", 0, false, commits_text);
    const auto data = dataset_text(task.dataset);
    text += fmt::format("{}**{}**{}\n\n{}", text.empty() ? "" : "\n",
                        markdown_cell(printable(task.name())), data.empty() ? "" : ": " + data,
                        markdown_table(table));
  }
  return text;
}

}  // namespace rl_training
