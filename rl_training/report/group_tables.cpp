#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "rl_training/report/tables.h"
#include "rl_training/report/task_metrics.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

std::string state_text(const RunGroup& group) {
  std::vector<std::string> parts;
  for (const auto state : kRunStates) {
    if (const auto n = group.count(state); n > 0 && state != RunState::finished) {
      parts.push_back(fmt::format("{} {}", n, run_state_name(state)));
    }
  }
  if (const auto n = group.resumed()) parts.push_back(fmt::format("{} resumed", n));
  return join(parts, ", ");
}

bool same_everywhere(const std::vector<std::string>& cells) {
  return std::all_of(cells.begin(), cells.end(),
                     [&](const std::string& cell) { return cell == cells.front(); });
}

void add_key_columns(const ReportTask& task, Table& table) {
  std::vector<std::string> names;
  for (const auto& group : task.groups) {
    for (const auto& [key, value] : group.shown_keys) {
      if (std::find(names.begin(), names.end(), key) == names.end()) names.push_back(key);
    }
  }
  for (const auto& name : names) {
    TableColumn column{printable(name), {}, false, TableColumn::kKey};
    for (const auto& group : task.groups) {
      const auto found = std::find_if(group.shown_keys.begin(), group.shown_keys.end(),
                                      [&](const KeyValue& pair) { return pair.first == name; });
      column.cells.push_back(found == group.shown_keys.end() ? "" : printable(found->second));
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

void add_return_columns(const ReportTask& task, Table& table) {
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
}

// Adds a column for each validation metric, with its last value averaged over seeds. If the table
// also shows returns and is too wide, these columns are removed first.
void add_validation_columns(const ReportTask& task, Table& table, bool beside_returns) {
  for (const auto& name : validation_names_of(task)) {
    const auto title = printable(validation_title(name));
    add_column(task, table, beside_returns ? "validation " + title : title,
               beside_returns            ? 30
               : name.ends_with("error") ? TableColumn::kAlways
                                         : 70,
               true,
               [&](const RunGroup& group) { return value_or_dash(mean_last_value(group, name)); });
  }
}

std::string seed_values(const RunGroup& group) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < group.runs.size(); ++i) {
    parts.push_back(fmt::format("{}: {}", group.runs[i].seed, value_or_dash(group.values[i])));
  }
  return join(parts, ", ");
}

// Estimates of `select` for the runs of a group.
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

// The legend for the columns with the given titles.
std::string legend_text(const Report& report, const std::set<std::string>& titles) {
  std::string text;
  if (titles.contains("IQM")) {
    text += fmt::format(
        "Returns of the {}: interquartile mean (IQM) over {} with its 95 % bootstrap interval. ",
        choice_name(report), report.repeats_seeds() ? "runs" : "seeds");
  }
  if (titles.contains("best wins")) {
    text += "best wins: probability that a run of the first row is better. ";
  }
  for (const auto& task : report.tasks) {
    for (const auto& name : validation_names_of(task)) {
      const auto title = printable(validation_title(name));
      if (!titles.contains(title) && !titles.contains("validation " + title)) continue;
      return text + "Errors and values on held-out data: mean over seeds of the last ones.";
    }
  }
  return text;
}

}  // namespace

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
  const bool played = has_evaluations(task);
  add_column(task, table, "algo", TableColumn::kAlways, false,
             [](const RunGroup& group) { return printable(group.algo); });
  add_key_columns(task, table);
  const bool repeated = std::any_of(task.groups.begin(), task.groups.end(),
                                    [](const RunGroup& group) { return group.repeats_seeds(); });
  const auto* const counted = repeated ? "runs" : "seeds";
  add_column(task, table, counted, TableColumn::kAlways, true, [&](const RunGroup& group) {
    return std::to_string(played ? group.known_values().size() : group.runs.size());
  });
  add_column(task, table, clock_title(task), TableColumn::kAlways, true, steps_text);
  if (played) add_return_columns(task, table);
  add_validation_columns(task, table, played);
  add_column(task, table, "estimate", 50, false, estimates_text);
  if (same_everywhere(table.back().cells) && table.back().cells.front().empty()) table.pop_back();
  add_column(task, table, "state", TableColumn::kState, false, state_text);
  if (same_everywhere(table.back().cells) && table.back().cells.front().empty()) table.pop_back();
  return table;
}

std::string report_text(const Report& report, size_t width) {
  std::string text;
  std::set<std::string> titles;
  for (const auto& task : report.tasks) {
    text += (text.empty() ? "" : "\n") + wrapped_text(printable(task.name()), width);
    if (const auto data = dataset_text(task.dataset); !data.empty()) text += "data: " + data + "\n";
    const auto table = fit_table(group_table(task), width);
    text += "\n" + table.text;
    if (!table.left_out.empty()) {
      text += wrapped_text("not shown: " + join(table.left_out, ", ") + "; --format csv has them",
                           width);
    }
    titles.insert(table.titles.begin(), table.titles.end());
  }
  return text + "\n" + wrapped_text(legend_text(report, titles), width);
}

std::string report_markdown(const Report& report) {
  std::string text;
  for (const auto& task : report.tasks) {
    auto table = group_table(task);
    add_column(task, table, choice_name(report) + " by seed", 0, false, seed_values);
    add_column(task, table, "commit", 0, false, commits_text);
    const auto data = dataset_text(task.dataset);
    text += fmt::format("{}**{}**{}\n\n{}", text.empty() ? "" : "\n",
                        markdown_cell(printable(task.name())), data.empty() ? "" : ": " + data,
                        markdown_table(table));
  }
  return text;
}

}  // namespace rl_training
