#include <fmt/format.h>

#include <algorithm>

#include "rl_training/report/html.h"
#include "rl_training/report/html_parts.h"
#include "rl_training/report/tables.h"
#include "rl_training/report/task_metrics.h"

namespace rl_training {
namespace {

constexpr const char* kIntervalTitle = "95 % interval";

struct ValueRange {
  double low = 0, high = 1;
};

ValueRange range_of(const ReportTask& task) {
  std::vector<double> all;
  for (const auto& group : task.groups) {
    for (const auto& value : group.values) {
      if (value) all.push_back(*value);
    }
  }
  if (all.empty()) return {};
  const auto [low, high] = std::minmax_element(all.begin(), all.end());
  return *low < *high ? ValueRange{*low, *high} : ValueRange{*low - 1, *high + 1};
}

// Draws the interval as a bar, the IQM as a mark and each run as a dot. All groups of a task share
// one axis.
std::string bar_html(size_t index, const RunGroup& group, const ValueRange& range) {
  const auto x = [&](double value) {
    return 4 + 162 * std::clamp((value - range.low) / (range.high - range.low), 0.0, 1.0);
  };
  auto svg = fmt::format(
      "<svg class=\"range c{}\" viewBox=\"0 0 170 16\" role=\"img\">"
      "<line class=\"axis\" x1=\"4\" x2=\"166\" y1=\"8\" y2=\"8\"/>",
      index % kPageColors);
  if (group.figures && group.figures->interval) {
    const double low = x(group.figures->interval->low), high = x(group.figures->interval->high);
    svg += fmt::format("<rect class=\"band\" x=\"{:.1f}\" width=\"{:.1f}\" y=\"4\" height=\"8\"/>",
                       low, std::max(1.0, high - low));
  }
  for (const auto& value : group.values) {
    if (value)
      svg += fmt::format("<circle class=\"point\" cx=\"{:.1f}\" cy=\"8\" r=\"1.8\"/>", x(*value));
  }
  if (group.figures) {
    svg += fmt::format("<rect class=\"point\" x=\"{:.1f}\" width=\"2.4\" y=\"1\" height=\"14\"/>",
                       x(group.figures->iqm) - 1.2);
  }
  return svg + "</svg>";
}

std::optional<double> sort_value(const RunGroup& group, const std::string& title,
                                 const std::string& text) {
  const auto& figures = group.figures;
  if (title == "IQM" || title == "score")
    return figures ? std::optional(figures->iqm) : std::nullopt;
  if (title == "mean") return figures ? std::optional(figures->mean) : std::nullopt;
  if (title == "median") return figures ? std::optional(figures->median) : std::nullopt;
  if (title == kIntervalTitle) {
    return figures && figures->interval ? std::optional(figures->interval->low) : std::nullopt;
  }
  return std::strtod(text.c_str(), nullptr);
}

// The IQM and its interval follow the algorithm, because a narrow screen shows only the first
// columns.
Table page_table(const ReportTask& task) {
  auto table = group_table(task);
  std::stable_partition(table.begin(), table.end(), [](const TableColumn& column) {
    return column.title == "algo" || column.title == "IQM" || column.title == kIntervalTitle;
  });
  return table;
}

}  // namespace

std::string score_table_html(const ReportTask& task) {
  const auto table = page_table(task);
  const auto range = range_of(task);
  const bool bars = has_evaluations(task);
  std::string html = "<div class=\"scroll\"><table class=\"sortable scores\"><thead><tr>";
  for (const auto& column : table) {
    html += fmt::format("<th{}>{}</th>", column.number ? " class=\"number\"" : "",
                        html_escaped(column.title));
    if (column.title == kIntervalTitle) html += "<th>runs and interval</th>";
  }
  html += "</tr></thead><tbody>\n";
  for (size_t row = 0; row < task.groups.size(); ++row) {
    html += row == 0 && bars && task.groups.size() > 1 ? "<tr class=\"best\">" : "<tr>";
    for (size_t i = 0; i < table.size(); ++i) {
      const auto& text = table[i].cells[row];
      if (table[i].number) {
        html += number_cell(text, sort_value(task.groups[row], table[i].title, text));
      } else {
        html += cell_html((i == 0 ? swatch(row) : "") + html_escaped(text));
      }
      if (table[i].title == kIntervalTitle) {
        html += cell_html(bar_html(row, task.groups[row], range));
      }
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace rl_training
