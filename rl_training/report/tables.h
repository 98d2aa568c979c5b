#pragma once
#include <string>
#include <vector>

#include "rl_training/report/groups.h"
#include "rl_training/util/json.h"

namespace rl_training {

// One column of a table, with a cell per row. `keep` defines what happens if the table is too wide.
// First, the states of runs (kState) are printed below their row. Then columns with a `keep` below
// kState are left out, lowest first. If the table is still too wide, config keys (kKey) are also
// printed below their row. Columns with kAlways always remain.
struct TableColumn {
  static constexpr int kAlways = 100, kKey = 90, kState = 85;
  std::string title;
  std::vector<std::string> cells;
  bool number = false;  // right-aligned
  int keep = kAlways;
};
using Table = std::vector<TableColumn>;

// One row for each group of a task, best first: differing keys, seeds, steps, statistics, states.
Table group_table(const ReportTask& task);

// "-231.4"; the number of digits depends on the size of the value.
std::string figure_text(double value);
std::string interval_text(
    const std::optional<ConfidenceInterval>& interval);  // "[-240.0, -210.5]" or "-"
// "600", "400 of 600" if the slowest run has made only 400 steps, or "200+300" for updates and
// environment steps.
std::string steps_text(const RunGroup& group);
std::string clock_title(const ReportTask& task);  // "updates", "env steps" or both
// "40000 rows in 200 episodes, mean return -617.0"; "" without data.
std::string dataset_text(const RunDataset& dataset);

// Result of fit_table: aligned columns with lines of at most `width` characters, unless the columns
// that must remain are wider. Each row is followed by its entry of `extra_lines`.
struct FittedTable {
  std::string text;
  std::vector<std::string> titles, left_out;  // titles of the shown and of the removed columns
};
FittedTable fit_table(const Table& table, size_t width,
                      const std::vector<std::string>& extra_lines = {});
// Wraps text to lines of at most `width` characters and starts each line with `indent`. "95 %"
// stays on one line. A word that is longer than a line is split.
std::string wrapped_text(const std::string& words, size_t width, const std::string& indent = "");
// Escapes text for a Markdown table.
std::string markdown_cell(const std::string& text);
// With `bold_stars`, a cell that ends in "*" is printed in bold, without the star.
std::string markdown_table(const Table& table, bool bold_stars = false);
size_t table_width(const Table& table);
std::string csv_line(const std::vector<std::string>& cells);

std::string report_text(const Report& report, size_t width);
std::string report_markdown(const Report& report);
std::string report_csv(const Report& report);
Json report_json(const Report& report);

}  // namespace rl_training
