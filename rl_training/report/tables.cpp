#include "rl_training/report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr size_t kGap = 2;

size_t column_width(const TableColumn& column) {
  size_t width = display_width(column.title);
  for (const auto& cell : column.cells) width = std::max(width, display_width(cell));
  return width;
}

std::string padded(const std::string& text, size_t width, bool right) {
  const size_t own = display_width(text);
  const std::string space(width > own ? width - own : 0, ' ');
  return right ? space + text : text + space;
}

std::string aligned_line(const Table& table, const std::vector<size_t>& widths,
                         const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    line += (i > 0 ? std::string(kGap, ' ') : "") + padded(cells[i], widths[i], table[i].number);
  }
  line.resize(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::vector<std::string> row_of(const Table& table, size_t row) {
  std::vector<std::string> cells;
  for (const auto& column : table) cells.push_back(column.cells[row]);
  return cells;
}

// Keys with their names, or the state, of one row.
std::string told_below(const Table& table, int keep, size_t row) {
  std::string text;
  for (const auto& column : table) {
    if (column.keep != keep || column.cells[row].empty()) continue;
    text += (keep == TableColumn::kKey ? column.title + "=" : "") + column.cells[row] + "  ";
  }
  return text;
}

}  // namespace

std::string figure_text(double value) {
  const double size = std::abs(value);
  return size >= 100 ? fmt::format("{:.1f}", value)
         : size >= 1 ? fmt::format("{:.2f}", value)
                     : fmt::format("{:.4f}", value);
}

std::string interval_text(const std::optional<ConfidenceInterval>& interval) {
  if (!interval) return "-";
  return fmt::format("[{}, {}]", figure_text(interval->low), figure_text(interval->high));
}

size_t table_width(const Table& table) {
  size_t width = 0;
  for (const auto& column : table) width += column_width(column) + kGap;
  return width > 0 ? width - kGap : 0;
}

std::string fit_table(Table table, size_t width, const std::vector<std::string>& extra_lines) {
  std::vector<std::string> below(table.front().cells.size());
  for (size_t i = 0; i < extra_lines.size(); ++i) below[i] = extra_lines[i];
  while (table_width(table) > width) {
    const auto least = std::min_element(
        table.begin(), table.end(),
        [](const TableColumn& a, const TableColumn& b) { return a.keep < b.keep; });
    if (least->keep == TableColumn::kAlways) break;
    const int going = least->keep;
    for (size_t i = 0; i < below.size() && going >= TableColumn::kState; ++i) {
      below[i] += told_below(table, going, i);
    }
    if (going == TableColumn::kKey) {  // all keys are moved together
      std::erase_if(table,
                    [](const TableColumn& column) { return column.keep == TableColumn::kKey; });
    } else {
      table.erase(least);
    }
  }
  std::vector<size_t> widths;
  std::vector<std::string> titles, rules;
  for (const auto& column : table) {
    widths.push_back(column_width(column));
    titles.push_back(column.title);
    rules.emplace_back(widths.back(), '-');
  }
  std::string text = aligned_line(table, widths, titles) + aligned_line(table, widths, rules);
  for (size_t i = 0; i < below.size(); ++i) {
    text += aligned_line(table, widths, row_of(table, i));
    text += wrapped_text(below[i], width, "    ");
  }
  return text;
}

std::string wrapped_text(const std::string& words, size_t width, const std::string& indent) {
  std::istringstream in(words);
  std::string text, line;
  for (std::string word; in >> word;) {
    if (!line.empty() && display_width(indent + line) + 1 + display_width(word) > width) {
      text += indent + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? text : text + indent + line + "\n";
}

std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("|\\`*_<>[]").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_table(const Table& table, bool bold_stars) {
  std::string header = "|", rule = "|", text;
  for (const auto& column : table) {
    header += " " + markdown_cell(column.title) + " |";
    rule += column.number ? "---:|" : "---|";
  }
  for (size_t i = 0; i < table.front().cells.size(); ++i) {
    text += "|";
    for (const auto& column : table) {
      auto cell = column.cells[i];
      const bool bold = bold_stars && cell.ends_with('*');
      if (bold) cell.pop_back();
      cell = markdown_cell(cell);
      text += " " + (bold ? "**" + cell + "**" : cell) + " |";
    }
    text += "\n";
  }
  return header + "\n" + rule + "\n" + text;
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::vector<std::string> quoted;
  for (const auto& cell : cells) {
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
      quoted.push_back(cell);
      continue;
    }
    std::string text = "\"";
    for (const char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    quoted.push_back(text + "\"");
  }
  std::string line;
  for (size_t i = 0; i < quoted.size(); ++i) line += (i > 0 ? "," : "") + quoted[i];
  return line + "\n";
}

}  // namespace rl_training
