#include "rl_training/report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
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

// The cells of one row that are printed below it: keys with their names, or states.
std::string told_below(const Table& table, int keep, size_t row) {
  std::string text;
  for (const auto& column : table) {
    if (column.keep != keep || column.cells[row].empty()) continue;
    text += (keep == TableColumn::kKey ? column.title + "=" : "") + column.cells[row] + "  ";
  }
  return text;
}

// Removes columns until the table fits, lowest `keep` first. Keys and states are never removed.
Table narrowed(const Table& table, size_t width, std::vector<std::string>& left_out) {
  left_out.clear();
  std::set<std::string> removed;
  auto shown = table;
  while (table_width(shown) > width) {
    const auto least = std::min_element(
        shown.begin(), shown.end(),
        [](const TableColumn& a, const TableColumn& b) { return a.keep < b.keep; });
    if (least->keep >= TableColumn::kState) break;
    removed.insert(least->title);
    shown.erase(least);
  }
  for (const auto& column : table) {
    if (removed.contains(column.title)) left_out.push_back(column.title);
  }
  return shown;
}

std::string table_text(const Table& table, const std::vector<std::string>& below, size_t width) {
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

// Splits text into words. A percent sign stays with the number before it ("95 %").
std::vector<std::string> unbroken_words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    if (word.starts_with('%') && !words.empty()) {
      words.back() += " " + word;
    } else {
      words.push_back(std::move(word));
    }
  }
  return words;
}

}  // namespace

std::string figure_text(double value) {
  const double size = std::abs(value);
  return size >= 1e7   ? fmt::format("{:.4g}", value)
         : size >= 100 ? fmt::format("{:.1f}", value)
         : size >= 1   ? fmt::format("{:.2f}", value)
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

FittedTable fit_table(const Table& table, size_t width,
                      const std::vector<std::string>& extra_lines) {
  auto below = extra_lines;
  below.resize(table.front().cells.size());
  auto whole = table;
  FittedTable fitted;
  auto shown = narrowed(whole, width, fitted.left_out);
  for (const int moving : {TableColumn::kState, TableColumn::kKey}) {
    // States are moved below the rows before any column is left out. Keys are moved only if the
    // table is too wide even without the columns that may be left out.
    const bool fits = table_width(shown) <= width;
    if (fits && (fitted.left_out.empty() || moving == TableColumn::kKey)) break;
    for (size_t i = 0; i < below.size(); ++i) below[i] += told_below(whole, moving, i);
    std::erase_if(whole, [&](const TableColumn& column) { return column.keep == moving; });
    shown = narrowed(whole, width, fitted.left_out);
  }
  for (const auto& column : shown) fitted.titles.push_back(column.title);
  fitted.text = table_text(shown, below, width);
  return fitted;
}

std::string wrapped_text(const std::string& words, size_t width, const std::string& indent) {
  std::string text, line;
  const auto end_line = [&] {
    if (!line.empty()) text += indent + line + "\n";
    line.clear();
  };
  const size_t available = width > indent.size() ? width - indent.size() : 1;
  for (auto word : unbroken_words(words)) {
    if (!line.empty() && display_width(line) + 1 + display_width(word) > available) end_line();
    while (display_width(word) > available) {
      size_t cut = 0;
      for (size_t i = 0; i < available; ++i) {
        cut += std::max<size_t>(1, utf8_character_length(std::string_view(word).substr(cut)));
      }
      line = word.substr(0, cut);
      word.erase(0, cut);
      end_line();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  end_line();
  return text;
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
