#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl_training/report/groups.h"

namespace rl_training {

// Parts of the page that its sections share. Arguments named `html` are already escaped.
constexpr size_t kPageColors = 10;  // .c0 to .c9 of the style
constexpr size_t kMostListed = 60;  // notes, configs

struct Heading {
  std::string title;
  bool number = true;  // right-aligned
};
std::string header_html(const std::vector<Heading>& headings);
std::string cell_html(const std::string& html, const char* kind = "");
// A cell that is sorted by a number and displayed as `text`.
std::string number_cell(const std::string& text, const std::optional<double>& value);
// The colour of a group.
std::string swatch(size_t group);

// The groups with their intervals as bars, best first.
std::string score_table_html(const ReportTask& task);
std::string timing_html(const ReportTask& task);
// Runs, their checkpoints and the command for each.
std::string runs_html(const ReportTask& task, const std::string& program);
// The whole config of each group.
std::string configs_html(const ReportTask& task);

}  // namespace rl_training
