#include "rl_training/data/csv_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"

namespace rl_training {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Calls use(field) for each comma-separated field.
template <class Use>
void split_fields(std::string_view text, const Use& use) {
  for (;;) {
    const auto comma = text.find(',');
    use(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) return;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

CsvTable::CsvTable(const std::string& path) : path_(path) {
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code)) {
    throw Error(ErrorKind::data, {path, 0, ""}, "cannot read (expected a CSV file)");
  }
  const std::string content = posix_file_system().read_file(path);
  std::string_view rest = content;
  for (int line = 1; !rest.empty(); ++line) {
    const auto end = rest.find('\n');
    const auto text = trimmed(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line == 1) {
      read_header(text);
    } else if (!text.empty()) {
      read_row(text, line);
    }
  }
  if (columns_.empty()) throw Error(ErrorKind::data, {path, 0, ""}, "the file is empty");
}

void CsvTable::read_header(std::string_view text) {
  std::set<std::string> seen;
  split_fields(text, [&](std::string_view name) {
    columns_.emplace_back(name);
    if (name.empty()) {
      throw Error(ErrorKind::data, {path_, 1, ""}, "a column has no name (expected a header row)");
    }
    if (!seen.insert(columns_.back()).second) {
      throw Error(ErrorKind::data, {path_, 1, columns_.back()}, "this column appears twice");
    }
  });
}

void CsvTable::read_row(std::string_view text, int line) {
  size_t field = 0;
  split_fields(text, [&](std::string_view word) {
    if (field == columns_.size()) {
      throw Error(ErrorKind::data, {path_, line, ""},
                  "too many fields (expected " + std::to_string(columns_.size()) + ")");
    }
    double value = std::numeric_limits<double>::quiet_NaN();
    if (!word.empty()) {
      const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (code != std::errc() || end != word.data() + word.size()) {
        throw Error(ErrorKind::data, {path_, line, columns_[field]},
                    "not a number (got `" + std::string(word.substr(0, 40)) + "`)");
      }
    }
    values_.push_back(value);
    ++field;
  });
  if (field != columns_.size()) {
    throw Error(ErrorKind::data, {path_, line, ""},
                "too few fields (expected " + std::to_string(columns_.size()) + ", got " +
                    std::to_string(field) + ")");
  }
  lines_.push_back(line);
}

int64_t CsvTable::find(std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  return found == columns_.end() ? -1 : found - columns_.begin();
}

std::vector<int64_t> CsvTable::find_numbered(std::string_view name) const {
  std::vector<int64_t> found;
  for (;;) {
    const int64_t column = find(std::string(name) + std::to_string(found.size()));
    if (column < 0) return found;
    found.push_back(column);
  }
}

double CsvTable::finite_at(int64_t row, int64_t column) const {
  const double value = at(row, column);
  if (!std::isfinite(value)) {
    throw Error(ErrorKind::data, {path_, line(row), columns_[static_cast<size_t>(column)]},
                "missing or not finite (expected a number)");
  }
  return value;
}

}  // namespace rl_training
