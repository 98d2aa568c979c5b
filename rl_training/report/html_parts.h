#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl_training/report/groups.h"

namespace rl_training {

constexpr size_t kPageColors = 10;  // classes .c0 to .c9 in report.css
constexpr size_t kMostListed = 60;  // largest number of notes or configs in a list

struct Heading {
  std::string title;
  bool number = true;  // right-aligned
};
std::string header_html(const std::vector<Heading>& headings);
// A table cell with the content `html`, in which callers must already have escaped all text.
std::string cell_html(const std::string& html, const char* kind = "");
// A cell that displays `text` and is sorted by `value`.
std::string number_cell(const std::string& text, const std::optional<double>& value);
// A square in the colour of a group.
std::string swatch(size_t group);

// A table of the groups, best first, with their intervals as bars.
std::string score_table_html(const ReportTask& task);
std::string timing_html(const ReportTask& task);
// The runs with their checkpoints, and commands that resume or evaluate them.
std::string runs_html(const ReportTask& task, const std::string& program);
// The whole config of the first run of each group, for at most kMostListed groups.
std::string configs_html(const ReportTask& task);

}  // namespace rl_training
