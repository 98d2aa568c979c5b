#include <fmt/format.h>

#include <algorithm>

#include "rl_training/render/chart.h"
#include "rl_training/report/chart_data.h"
#include "rl_training/report/html.h"
#include "rl_training/report/html_parts.h"
#include "rl_training/report/page_assets.h"
#include "rl_training/report/plot.h"
#include "rl_training/report/profile.h"
#include "rl_training/report/tables.h"
#include "rl_training/report/task_metrics.h"

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

std::string picture_html(const Chart& chart) {
  if (chart.series.empty()) return "";
  return "<div class=\"pictures\"><img alt=\"" + html_escaped(chart.y_label) +
         "\" src=\"data:image/svg+xml;base64," + base64(encode_chart_svg(chart)) + "\"></div>";
}

// Curves as static pictures, for pages without interactive charts.
std::string curve_pictures(const ReportTask& task) {
  std::string html;
  for (const bool online : clocks_of(task)) {
    if (!chart_unavailable().empty()) break;
    html += picture_html(learning_curve_chart(task, online));
    for (const auto& name : validation_names_of(task)) {
      html += picture_html(metric_chart(task, name, online));
    }
  }
  return html +
         "<p class=\"soft\">Curves are static pictures because this program was built without "
         "dygraphs.</p>\n";
}

std::string charts_html(const ReportTask& task) {
  if (chart_script().empty()) return curve_pictures(task);
  const bool played = has_evaluations(task);
  std::string html = played ? "<h3>Learning curves</h3>" : "<h3>Curves</h3>";
  html +=
      "<div class=\"tools\"><button type=\"button\" class=\"all\">All / none</button><label><input "
      "type=\"checkbox\" class=\"seeds\"> single runs</label></div><div class=\"legend\"></div>\n";
  if (played) html += "<div class=\"curves\"></div>\n";
  if (has_profiles(task)) {
    html +=
        "<h3>Performance profile</h3><p class=\"soft\">Share of a "
        "group's runs above a return: the higher the line, the better.</p><div "
        "class=\"profile\"></div>\n";
  }
  return html;
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

std::string metric_table(const ReportTask& task, const std::set<std::string>& names) {
  std::vector<Heading> titles = {{"group", false}};
  for (const auto& name : names) titles.push_back({name});
  std::string html =
      "<div class=\"scroll\"><table class=\"sortable\">" + header_html(titles) + "<tbody>";
  for (size_t i = 0; i < task.groups.size(); ++i) {
    html += "<tr>" + cell_html(swatch(i) + html_escaped(task.groups[i].label()));
    for (const auto& name : names) {
      const auto value = mean_last_value(task.groups[i], name);
      html += number_cell(value ? figure_text(*value) : "-", value);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

// A container for the curves of validation metrics. The score table contains their last values.
std::string validation_html(const ReportTask& task) {
  if (validation_names_of(task).empty() || chart_script().empty()) return "";
  return "<h3>Validation on held-out data</h3><p class=\"soft\">Mean over seeds; bands reach from "
         "the "
         "smallest to the largest.</p><div class=\"validation\"></div>\n";
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
         film_html(options, index) + validation_html(task) + metrics_html(task) +
         last_values_html(task) + timing_html(task) + runs_html(task, options.program) +
         configs_html(task) + "</section>\n";
}

std::string overview_html(const Report& report) {
  size_t runs = 0, groups = 0, open = 0, failed = 0;
  for (const auto& task : report.tasks) {
    groups += task.groups.size();
    for (const auto& group : task.groups) {
      runs += group.runs.size();
      open += group.runs.size() - group.count(RunState::finished) - group.count(RunState::failed);
      failed += group.count(RunState::failed);
    }
  }
  std::string html = fmt::format(
      "<ul class=\"facts\"><li>runs <b>{}</b></li><li>groups <b>{}</b></li><li>not finished "
      "<b>{}</b></li><li>failed <b>{}</b></li></ul>",
      runs, groups, open, failed);
  const bool merged = report.repeats_seeds();  // whether --by merged several configs
  html += merged ? "<p class=\"soft\">"
                 : "<p class=\"soft\">Runs of a group differ only in their seed.";
  if (std::any_of(report.tasks.begin(), report.tasks.end(), has_evaluations)) {
    html += fmt::format(
        " Returns of the {}. IQM: interquartile mean over {}, with its 95 % bootstrap interval. "
        "best wins: probability that a run of the first row is better.",
        choice_name(report), merged ? "runs" : "seeds");
  }
  html += "</p>";
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
