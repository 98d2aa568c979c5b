#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "rl_training/render/chart.h"
#include "rl_training/report/chart_data.h"
#include "rl_training/report/html.h"
#include "rl_training/report/page_assets.h"
#include "rl_training/report/plot.h"
#include "rl_training/report/tables.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr size_t kColors = 10;  // .c0 to .c9 of the style
constexpr size_t kMostListed = 60;

std::string cell_html(const std::string& text, const char* kind = "") {
  const auto attribute = *kind == '\0' ? std::string() : fmt::format(" class=\"{}\"", kind);
  return "<td" + attribute + ">" + text + "</td>";
}

// A number that the table sorts by, shown as `text`.
std::string number_cell(const std::string& text, const std::optional<double>& value) {
  const auto sorted = value ? fmt::format(" data-v=\"{}\"", *value) : " data-v=\"-1e308\"";
  return "<td class=\"number\"" + sorted + ">" + html_escaped(text) + "</td>";
}

std::string header_html(const std::vector<std::string>& titles) {
  std::string row = "<thead><tr>";
  for (const auto& title : titles) row += "<th>" + html_escaped(title) + "</th>";
  return row + "</tr></thead>";
}

std::string notes_html(const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string html = "<div class=\"notes\"><ul>";
  for (size_t i = 0; i < std::min(lines.size(), kMostListed); ++i) {
    html += "<li>" + html_escaped(lines[i]) + "</li>";
  }
  if (lines.size() > kMostListed) {
    html += fmt::format("<li>and {} more</li>", lines.size() - kMostListed);
  }
  return html + "</ul></div>\n";
}

std::string swatch(size_t group) {
  return fmt::format("<span class=\"swatch c{}\"></span>", group % kColors);
}

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

// The interval as a bar, the IQM as a mark and each run as a dot, on the axis of the whole task.
std::string bar_html(size_t index, const RunGroup& group, const ValueRange& range) {
  const auto x = [&](double value) {
    return 4 + 162 * std::clamp((value - range.low) / (range.high - range.low), 0.0, 1.0);
  };
  auto svg = fmt::format(
      "<svg class=\"range c{}\" viewBox=\"0 0 170 16\" role=\"img\">"
      "<line class=\"axis\" x1=\"4\" x2=\"166\" y1=\"8\" y2=\"8\"/>",
      index % kColors);
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
  if (title == "95 % interval") {
    return figures && figures->interval ? std::optional(figures->interval->low) : std::nullopt;
  }
  return std::strtod(text.c_str(), nullptr);
}

// Many keys would push the figures out of sight: they come last then.
Table page_table(const ReportTask& task) {
  constexpr size_t kMostKeysFirst = 3;
  auto table = group_table(task);
  const auto is_key = [](const TableColumn& column) { return column.keep == TableColumn::kKey; };
  const auto keys = std::count_if(table.begin(), table.end(), is_key);
  if (keys > static_cast<std::ptrdiff_t>(kMostKeysFirst)) {
    std::stable_partition(table.begin(), table.end(), std::not_fn(is_key));
  }
  return table;
}

std::string score_table(const ReportTask& task) {
  const auto table = page_table(task);
  const auto range = range_of(task);
  std::string html = "<div class=\"scroll\"><table class=\"sortable scores\"><thead><tr>";
  for (size_t i = 0; i < table.size(); ++i) {
    html += fmt::format("<th{}>{}</th>", table[i].number ? " class=\"number\"" : "",
                        html_escaped(table[i].title));
    if (i == 0) html += "<th>runs and interval</th>";
  }
  html += "</tr></thead><tbody>\n";
  for (size_t row = 0; row < task.groups.size(); ++row) {
    html += row == 0 && task.groups.size() > 1 ? "<tr class=\"best\">" : "<tr>";
    for (size_t i = 0; i < table.size(); ++i) {
      const auto& text = table[i].cells[row];
      if (table[i].number) {
        html += number_cell(text, sort_value(task.groups[row], table[i].title, text));
      } else {
        html += cell_html((i == 0 ? swatch(row) : "") + html_escaped(text));
      }
      if (i == 0) html += cell_html(bar_html(row, task.groups[row], range));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

// Where the script cannot draw, the curves are pictures.
std::string curve_pictures(const ReportTask& task) {
  std::string html;
  for (const bool online : clocks_of(task)) {
    if (!chart_unavailable().empty()) break;
    const auto svg = encode_chart_svg(learning_curve_chart(task, online));
    html +=
        "<div class=\"pictures\"><img alt=\"learning curves\" src=\"data:image/svg+xml;base64," +
        base64(svg) + "\"></div>";
  }
  return html +
         "<p class=\"soft\">Curves are still pictures: this program was built without "
         "dygraphs.</p>\n";
}

std::string charts_html(const ReportTask& task) {
  if (chart_script().empty()) return curve_pictures(task);
  return "<h3>Learning curves</h3><div class=\"tools\"><button type=\"button\" class=\"all\">"
         "All / none</button><label><input type=\"checkbox\" class=\"seeds\"> single runs"
         "</label></div><div class=\"legend\"></div><div class=\"curves\"></div>\n"
         "<h3>Performance profile</h3><p class=\"soft\">Share of a group's runs above a return: "
         "the higher the line, the better.</p><div class=\"profile\"></div>\n";
}

std::string metrics_html(const ReportTask& task) {
  const auto names = metric_names_of(task);
  if (names.empty() || chart_script().empty()) return "";
  std::string html =
      "<details class=\"metrics\"><summary>Losses and other metrics</summary>"
      "<div class=\"tools\"><select aria-label=\"metric\">";
  for (const auto& name : names) html += "<option>" + html_escaped(name) + "</option>";
  return html + "</select></div><div class=\"metric\"></div></details>\n";
}

std::optional<double> mean_metric(const RunGroup& group, const std::string& name) {
  std::vector<double> values;
  for (const auto& run : group.runs) {
    for (const auto& [metric, value] : run.last_metrics) {
      if (metric == name) values.push_back(value);
    }
  }
  return values.empty() ? std::nullopt : std::optional(mean_of(values));
}

std::string metric_table(const ReportTask& task, const std::vector<std::string>& names) {
  std::vector<std::string> titles = {"group"};
  titles.insert(titles.end(), names.begin(), names.end());
  std::string html =
      "<div class=\"scroll\"><table class=\"sortable\">" + header_html(titles) + "<tbody>";
  for (size_t i = 0; i < task.groups.size(); ++i) {
    html += "<tr>" + cell_html(swatch(i) + html_escaped(task.groups[i].label()));
    for (const auto& name : names) {
      const auto value = mean_metric(task.groups[i], name);
      html += number_cell(value ? figure_text(*value) : "-", value);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

// Estimates that need no environment: values on held-out data and of policy selection.
std::string estimates_html(const ReportTask& task) {
  std::vector<std::string> names;
  for (const auto& name : metric_names_of(task)) {
    for (const char* prefix : {"validation", "fqe", "soft_opc", "selection"}) {
      if (name.starts_with(prefix)) names.push_back(name);
    }
  }
  if (names.empty()) return "";
  return "<h3>Estimates from held-out data</h3><p class=\"soft\">Last values, mean over "
         "seeds.</p>" +
         metric_table(task, names);
}

std::string last_values_html(const ReportTask& task) {
  const auto names = metric_names_of(task);
  if (names.empty()) return "";
  return "<details><summary>Last value of each metric</summary>" + metric_table(task, names) +
         "</details>\n";
}

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string timing_html(const ReportTask& task) {
  std::string html =
      "<details><summary>Time and speed</summary><div class=\"scroll\">"
      "<table class=\"sortable\">" +
      header_html({"group", "time of a run", "updates", "updates/s"}) + "<tbody>";
  for (size_t i = 0; i < task.groups.size(); ++i) {
    double seconds = 0, updates = 0;
    for (const auto& run : task.groups[i].runs) {
      seconds += run.seconds;
      updates += static_cast<double>(run.updates);
    }
    const auto runs = static_cast<double>(task.groups[i].runs.size());
    const double rate = seconds > 0 ? updates / seconds : 0;
    html += "<tr>" + cell_html(swatch(i) + html_escaped(task.groups[i].label())) +
            number_cell(duration_text(seconds / runs), seconds / runs) +
            number_cell(fmt::format("{:.0f}", updates / runs), updates / runs) +
            number_cell(fmt::format("{:.0f}", rate), rate) + "</tr>\n";
  }
  return html + "</tbody></table></div></details>\n";
}

std::string commands_of(const RunRecord& run, const std::string& program) {
  std::string html;
  for (const auto& name : run.checkpoints) {
    const auto path = run.path + "/checkpoints/" + name;
    html +=
        "<div><code>" +
        html_escaped(shell_word(program) + " evaluate " + shell_word(path) + " --episodes 100") +
        "</code></div>";
  }
  if (run.state == RunState::unfinished) {
    html += "<div><code>" + html_escaped(shell_word(program) + " resume " + shell_word(run.path)) +
            "</code></div>";
  }
  return html;
}

std::string runs_html(const ReportTask& task, const std::string& program) {
  std::string html =
      "<details class=\"runs\"><summary>Runs and checkpoints</summary>"
      "<div class=\"scroll\"><table class=\"sortable\">" +
      header_html({"group", "seed", "value", "state", "steps", "time", "commit",
                   "run directory and commands"}) +
      "<tbody>";
  for (size_t i = 0; i < task.groups.size(); ++i) {
    const auto& group = task.groups[i];
    for (size_t j = 0; j < group.runs.size(); ++j) {
      const auto& run = group.runs[j];
      const char* const state = run_state_name(run.state);
      const auto steps = run.has_online ? run.env_steps : run.updates;
      html += "<tr>" + cell_html(swatch(i) + html_escaped(group.label()));
      html += number_cell(std::to_string(run.seed), static_cast<double>(run.seed));
      html += number_cell(group.values[j] ? figure_text(*group.values[j]) : "-", group.values[j]);
      html += cell_html(fmt::format("<span class=\"state {0}\">{0}</span>{1}", state,
                                    run.sessions > 1 ? " resumed" : ""));
      html += number_cell(std::to_string(steps), static_cast<double>(steps));
      html += number_cell(duration_text(run.seconds), run.seconds);
      html += cell_html(html_escaped(run.commit));
      html += cell_html(html_escaped(run.path) + commands_of(run, program), "path") + "</tr>\n";
    }
  }
  return html + "</tbody></table></div></details>\n";
}

std::string config_html(const ReportTask& task) {
  std::string html = "<details class=\"configs\"><summary>Configuration</summary>";
  size_t shown = 0;
  for (const auto& group : task.groups) {
    if (++shown > kMostListed) break;
    html += "<details><summary>" + html_escaped(group.label()) + " <span class=\"soft\">" +
            html_escaped(group.config_hash.substr(0, 12)) + "</span></summary><pre>";
    for (const auto& [key, value] : group.runs.front().config) {
      html += html_escaped(key + ": " + value) + "\n";
    }
    html += "</pre></details>";
  }
  return html + "</details>\n";
}

std::string dataset_html(const RunDataset& dataset) {
  if (dataset.rows == 0) return "";
  std::string html = "<ul class=\"facts\"><li>data <b>" + html_escaped(dataset.name) + "</b></li>" +
                     fmt::format("<li>rows <b>{}</b></li><li>episodes <b>{}</b></li>", dataset.rows,
                                 dataset.episodes);
  if (dataset.return_mean) {
    html += "<li>mean return <b>" + figure_text(*dataset.return_mean) + "</b></li>";
  }
  if (!dataset.fingerprint.empty()) {
    html +=
        "<li>fingerprint <code>" + html_escaped(dataset.fingerprint.substr(0, 12)) + "</code></li>";
  }
  return html + "</ul>" + notes_html(dataset.warnings);
}

std::string film_html(const PageOptions& options, size_t task) {
  const auto found = options.films.find(task);
  if (found == options.films.end()) return "";
  return "<h3>An episode of the best run</h3><div class=\"pictures\"><img alt=\"an episode\" "
         "src=\"data:image/gif;base64," +
         base64(found->second) + "\"></div>\n";
}

std::string task_html(const ReportTask& task, size_t index, const PageOptions& options) {
  return fmt::format("<section class=\"card\" id=\"task{}\"><h2>{}</h2>\n", index,
                     html_escaped(task.name())) +
         dataset_html(task.dataset) + score_table(task) + charts_html(task) +
         film_html(options, index) + estimates_html(task) + metrics_html(task) +
         last_values_html(task) + timing_html(task) + runs_html(task, options.program) +
         config_html(task) + "</section>\n";
}

std::string overview_html(const Report& report) {
  size_t runs = 0, groups = 0, open = 0, failed = 0;
  for (const auto& task : report.tasks) {
    groups += task.groups.size();
    for (const auto& group : task.groups) {
      runs += group.runs.size();
      open += group.count(RunState::running) + group.count(RunState::unfinished);
      failed += group.count(RunState::failed);
    }
  }
  std::string html = fmt::format(
      "<ul class=\"facts\"><li>runs <b>{}</b></li><li>groups <b>{}</b></li><li>not finished "
      "<b>{}</b></li><li>failed <b>{}</b></li></ul>",
      runs, groups, open, failed);
  html += fmt::format(
      "<p class=\"soft\">Returns of the {}. Runs of a group differ in their seed "
      "alone. IQM: interquartile mean over seeds, with its 95 % bootstrap interval. "
      "best wins: probability that a run of the first row is better.</p>",
      choice_name(report.choice));
  if (report.tasks.size() > 1) {
    html += "<ul class=\"facts\">";
    for (size_t i = 0; i < report.tasks.size(); ++i) {
      html += fmt::format("<li><a href=\"#task{}\">{}</a></li>", i,
                          html_escaped(report.tasks[i].name()));
    }
    html += "</ul>";
  }
  return html + notes_html(report.notes) + "\n";
}

}  // namespace

std::string report_html(const Report& report, const PageOptions& options) {
  std::string body = overview_html(report);
  for (size_t i = 0; i < report.tasks.size(); ++i) body += task_html(report.tasks[i], i, options);
  const auto data = chart_script().empty() ? "{\"tasks\":[]}" : chart_data_json(report);
  return html_document("Training report", body, data, options);
}

}  // namespace rl_training
