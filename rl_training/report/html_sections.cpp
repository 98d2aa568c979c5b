#include <fmt/format.h>

#include <algorithm>

#include "rl_training/render/chart.h"
#include "rl_training/report/chart_data.h"
#include "rl_training/report/html.h"
#include "rl_training/report/html_parts.h"
#include "rl_training/report/page_assets.h"
#include "rl_training/report/plot.h"
#include "rl_training/report/tables.h"

namespace rl_training {
namespace {

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
  std::vector<Heading> titles = {{"group", false}};
  for (const auto& name : names) titles.push_back({name});
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
         dataset_html(task.dataset) + score_table_html(task) + charts_html(task) +
         film_html(options, index) + estimates_html(task) + metrics_html(task) +
         last_values_html(task) + timing_html(task) + runs_html(task, options.program) +
         configs_html(task) + "</section>\n";
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
