#include <fmt/format.h>

#include <cmath>

#include "rl_training/report/html.h"
#include "rl_training/report/html_parts.h"
#include "rl_training/report/tables.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string command_html(const std::string& command) {
  return "<div><code>" + html_escaped(command) + "</code></div>";
}

std::string commands_of(const RunRecord& run, const std::string& program) {
  std::string html;
  if (run.state == RunState::unfinished || run.state == RunState::paused) {
    html += command_html(shell_word(program) + " resume " + shell_word(run.path));
  }
  if (run.checkpoints.empty()) return html;
  html += fmt::format("<details><summary>{} checkpoints</summary>", run.checkpoints.size());
  for (const auto& name : run.checkpoints) {
    const auto path = run.path + "/checkpoints/" + name;
    html += command_html(shell_word(program) + " evaluate " + shell_word(path) + " --episodes 100");
  }
  return html + "</details>";
}

std::string estimate_cell(const std::optional<RunEstimate>& estimate) {
  if (!estimate) return number_cell("-", std::nullopt);
  return number_cell(fmt::format("{} [{}, {}], rank {:g} of {}", figure_text(estimate->value),
                                 figure_text(estimate->low), figure_text(estimate->high),
                                 estimate->rank, estimate->candidates),
                     estimate->value);
}

}  // namespace

std::string timing_html(const ReportTask& task) {
  std::string html =
      "<details><summary>Time and speed</summary><div class=\"scroll\">"
      "<table class=\"sortable\">" +
      header_html({{"group", false}, {"time of a run"}, {"updates"}, {"updates/s"}}) + "<tbody>";
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

std::string runs_html(const ReportTask& task, const std::string& program) {
  std::string html =
      "<details class=\"runs\"><summary>Runs and checkpoints</summary>"
      "<div class=\"scroll\"><table class=\"sortable\">" +
      header_html({{"group", false},
                   {"seed"},
                   {"value"},
                   {"estimate"},
                   {"state", false},
                   {"steps"},
                   {"time"},
                   {"commit", false},
                   {"run directory and commands", false}}) +
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
      html += estimate_cell(run.estimate);
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

std::string configs_html(const ReportTask& task) {
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

}  // namespace rl_training
