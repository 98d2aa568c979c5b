#pragma once
#include <string>
#include <vector>

#include "rl_training/report/groups.h"
#include "rl_training/util/json.h"

namespace rl_training {

// One column of a table, a cell for each row. Where a table must fit, columns with the lowest
// `keep` go first; keys and states are then printed below their row, and those with kAlways stay.
struct TableColumn {
  static constexpr int kAlways = 100, kKey = 90, kState = 85;
  std::string title;
  std::vector<std::string> cells;
  bool number = false;  // aligned to the right
  int keep = kAlways;
};
using Table = std::vector<TableColumn>;

// The groups of a task, one row each, best first: what differs, seeds, steps, figures, states.
Table group_table(const ReportTask& task);

// "-231.4": as many digits as the sizes at hand deserve.
std::string figure_text(double value);
std::string interval_text(
    const std::optional<ConfidenceInterval>& interval);  // "[-240.0, -210.5]" or "-"
// "600", "400 of 600" while the slowest run is still training, "200+300" on both clocks.
std::string steps_text(const RunGroup& group);
std::string clock_title(const ReportTask& task);  // "updates", "env steps" or both
// "200 episodes, mean return -617.0"; "" without data.
std::string dataset_text(const RunDataset& dataset);

// Aligned columns of at most `width` characters; keys that do not fit get extra lines below
// their row.
std::string fit_table(Table table, size_t width, const std::vector<std::string>& extra_lines = {});
// Words in lines of at most `width` characters, each after `indent`.
std::string wrapped_text(const std::string& words, size_t width, const std::string& indent = "");
// Text that a Markdown table does not read as anything else.
std::string markdown_cell(const std::string& text);
// With `bold_stars` a cell that ends in "*" is bold instead.
std::string markdown_table(const Table& table, bool bold_stars = false);
size_t table_width(const Table& table);
std::string csv_line(const std::vector<std::string>& cells);

std::string report_text(const Report& report, size_t width);
std::string report_markdown(const Report& report);
std::string report_csv(const Report& report);
Json report_json(const Report& report);

}  // namespace rl_training
