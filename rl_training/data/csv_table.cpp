#include "rl_training/data/csv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "rl_training/data/gzip.h"
#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string_view without_line_end(std::string_view text) {
  while (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (auto& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return result;
}

bool parse_number(std::string_view word, double& value) {
  if (word.starts_with('+')) word.remove_prefix(1);
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  return code == std::errc() && end == word.data() + word.size();
}

// Words for missing values and NaN, in files and in error messages. The first word occurs only in
// error messages, where it stands for an empty field.
constexpr std::array<std::string_view, 7> kMissing = {"nothing", "NA",   "N/A", "null",
                                                      "None",    "#N/A", "NaN"};
constexpr int kNan = kMissing.size() - 1;

// Returns the index of the word in kMissing (0 for an empty field), or -1.
int missing_word(std::string_view word) {
  if (word.empty()) return 0;
  const auto name = lower(word);
  for (size_t i = 1; i < kMissing.size(); ++i) {
    if (name == lower(kMissing[i])) return static_cast<int>(i);
  }
  return -1;
}

constexpr uint64_t kPayload = (uint64_t{1} << 51) - 1;

double nan_with(uint64_t payload) {
  const auto bits = std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN());
  return std::bit_cast<double>((bits & ~kPayload) | payload);
}

// The payload of a NaN records what the field contained. An even payload is twice an index in
// kMissing; an odd payload is a hash of the text. Conversion to float loses this information.
double missing_value(int word) { return nan_with(2 * static_cast<uint64_t>(word)); }
double text_value(std::string_view text) {
  return nan_with((std::hash<std::string_view>{}(text)&kPayload) | 1);
}
bool is_text(double value) {
  return std::isnan(value) && (std::bit_cast<uint64_t>(value) & 1) != 0;
}
std::string_view found_word(double value) {
  return kMissing.at((std::bit_cast<uint64_t>(value) & kPayload) / 2);
}

// Position of the opening bracket of the unit in "speed [m/s]" or "speed (m/s)"; npos if the name
// has no unit.
size_t unit_start(std::string_view name) {
  if (!name.ends_with(']') && !name.ends_with(')')) return std::string_view::npos;
  const auto at = name.rfind(name.back() == ']' ? '[' : '(');
  return at == 0 ? std::string_view::npos : at;
}

std::string_view without_unit(std::string_view name) {
  return trimmed(name.substr(0, unit_start(name)));
}

}  // namespace

CsvTable::CsvTable(const std::string& path) : path_(path) {
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code)) {
    throw Error(ErrorKind::data, {path, 0, ""}, "cannot read (expected a CSV file)");
  }
  const std::string content = posix_file_system().read_file(path);
  parse(is_gzip(content) ? gunzip(content, path) : content);
}

CsvTable::CsvTable(std::string_view content, const std::string& name) : path_(name) {
  parse(content);
}

void CsvTable::parse(std::string_view rest) {
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  for (int number = 1; !rest.empty(); ++number) {
    const auto end = rest.find('\n');
    const auto line = without_line_end(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const auto text = trimmed(line);
    if (text.empty()) continue;
    if (text.starts_with('#')) {
      read_comment(trimmed(text.substr(1)));
    } else if (columns_.empty()) {
      read_header(line, number);
    } else {
      read_row(line, number);
    }
  }
  if (columns_.empty()) throw Error(ErrorKind::data, {path_, 0, ""}, "the file is empty");
  if (!units_comment_.empty()) read_units(split(units_comment_));
}

void CsvTable::read_comment(std::string_view text) {
  const auto name = lower(text.substr(0, 6));
  if (name.starts_with("units:") || name.starts_with("unit:")) {
    units_comment_ = trimmed(text.substr(text.find(':') + 1));
  } else if (columns_.empty()) {
    comment_ = text;
  }
}

void CsvTable::choose_separator(std::string_view header) {
  int64_t most = 0;
  for (const char candidate : {',', ';', '\t'}) {
    const int64_t count = std::count(header.begin(), header.end(), candidate);
    if (count > most) separator_ = candidate;
    most = std::max(most, count);
  }
}

// Splits a line into fields and removes surrounding blanks and quotes. Quoted fields may contain
// separators. Within quotes, "" means one quote character.
std::vector<std::string> CsvTable::split(std::string_view line) const {
  std::vector<std::string> fields;
  std::string field;
  bool quoted = false, was_quoted = false;
  const auto finish = [&] {
    fields.emplace_back(was_quoted ? field : std::string(trimmed(field)));
    field.clear();
    was_quoted = false;
  };
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (i + 1 < line.size() && line[i + 1] == '"') {
        field += line[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"' && trimmed(field).empty() && !was_quoted) {
      field.clear();
      quoted = was_quoted = true;
    } else if (c == separator_) {
      finish();
    } else if (!was_quoted || !trimmed(std::string_view(&c, 1)).empty()) {
      field += c;
    }
  }
  finish();
  return fields;
}

void CsvTable::read_header(std::string_view line, int number) {
  choose_separator(line);
  auto names = split(line);
  double ignored = 0;
  const bool numbers = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return parse_number(name, ignored);
  });
  const auto commented = split(comment_);
  const bool in_comment = numbers && names.size() > 1 && commented.size() == names.size();
  if (in_comment) names = commented;
  if (names.size() > 1 && names.back().empty()) {
    names.pop_back();
    separator_at_end_ = true;
  }
  // pandas, for example, writes the row index into a first column without a name.
  if (names.size() > 1 && names.front().empty()) names.front() = "index";
  std::set<std::string> seen;
  for (const auto& name : names) {
    columns_.push_back(shortened(printable(name), 200));
    if (name.empty()) {
      throw Error(ErrorKind::data, {path_, number, ""},
                  "a column has no name (expected a header row)");
    }
    if (!seen.insert(columns_.back()).second) {
      throw Error(ErrorKind::data, {path_, number, columns_.back()}, "this column appears twice");
    }
  }
  units_.resize(columns_.size());
  if (in_comment) read_row(line, number);
}

// Stores the fields as units of the columns. Returns false if the numbers of fields and columns
// differ.
bool CsvTable::read_units(const std::vector<std::string>& fields) {
  if (fields.size() != columns_.size()) return false;
  for (size_t i = 0; i < fields.size(); ++i) {
    const auto& field = fields[i];
    const bool bracketed = field.size() > 1 && (field[0] == '[' || field[0] == '(');
    units_[i] = shortened(printable(bracketed ? field.substr(1, field.size() - 2) : field), 40);
  }
  return true;
}

double CsvTable::read_number(std::string_view word, int number, size_t column) {
  double value = 0;
  if (parse_number(word, value)) return std::isnan(value) ? missing_value(kNan) : value;
  if (const int missing = missing_word(word); missing >= 0) return missing_value(missing);
  const auto name = lower(word);
  if (name == "true") return 1;
  if (name == "false") return 0;
  if (const auto comma = word.find(','); separator_ != ',' && comma != std::string::npos) {
    std::string with_point(word);
    with_point[comma] = '.';
    if (parse_number(with_point, value)) return value;
  }
  texts_.try_emplace(column, Text{number, shortened(printable(word), 40)});
  return text_value(word);
}

// Whether the line is a row of units, such as [rad],[m/s]. If so, stores the units.
bool CsvTable::is_units_row(std::string_view line) {
  auto fields = split(line);
  if (separator_at_end_ && fields.back().empty()) fields.pop_back();
  const bool brackets = std::all_of(fields.begin(), fields.end(), [](const std::string& field) {
    return (field.starts_with('[') && field.ends_with(']')) ||
           (field.starts_with('(') && field.ends_with(')'));
  });
  return brackets && read_units(fields);
}

void CsvTable::read_row(std::string_view line, int number) {
  if (rows() == 0 && is_units_row(line)) return;
  const size_t expected = columns_.size();
  size_t count = 0;
  const auto take = [&](std::string_view word) {
    if (count == expected && separator_at_end_ && word.empty()) return;
    if (count < expected) values_.push_back(read_number(word, number, count));
    ++count;
  };
  if (line.find('"') == std::string_view::npos) {
    for (auto rest = line;;) {
      const auto end = rest.find(separator_);
      take(trimmed(rest.substr(0, end)));
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
    }
  } else {
    for (const auto& field : split(line)) take(field);
  }
  if (count > expected) {
    throw Error(ErrorKind::data, {path_, number, ""},
                "too many fields (expected " + std::to_string(expected) + ")");
  }
  if (count < expected) {
    throw Error(ErrorKind::data, {path_, number, ""},
                "too few fields (expected " + std::to_string(expected) + ", got " +
                    std::to_string(count) + ")");
  }
  lines_.push_back(number);
}

std::string CsvTable::full_name(int64_t column) const {
  const auto& name = columns_[static_cast<size_t>(column)];
  const auto& unit = units_[static_cast<size_t>(column)];
  return unit.empty() || unit_start(name) != std::string::npos ? name : name + " [" + unit + "]";
}

int64_t CsvTable::find(std::string_view column) const {
  const auto exact = std::find(columns_.begin(), columns_.end(), column);
  if (exact != columns_.end()) return exact - columns_.begin();
  const auto bare = std::find_if(columns_.begin(), columns_.end(), [&](const std::string& name) {
    return without_unit(name) == column;
  });
  return bare == columns_.end() ? -1 : bare - columns_.begin();
}

std::vector<int64_t> CsvTable::find_numbered(std::string_view name) const {
  std::vector<int64_t> found;
  for (const char* joint : {"", "_"}) {
    for (;;) {
      const int64_t column = find(std::string(name) + joint + std::to_string(found.size()));
      if (column < 0) break;
      found.push_back(column);
    }
    if (!found.empty()) break;
  }
  return found;
}

bool CsvTable::equal(int64_t row, int64_t other, int64_t column) const {
  return std::bit_cast<uint64_t>(at(row, column)) == std::bit_cast<uint64_t>(at(other, column));
}

double CsvTable::finite_at(int64_t row, int64_t column) const {
  const double value = at(row, column);
  if (std::isfinite(value)) return value;
  const ErrorPlace place = {path_, line(row), columns_[static_cast<size_t>(column)]};
  if (std::isinf(value)) throw Error(ErrorKind::data, place, "not finite (expected a number)");
  const auto text = texts_.find(static_cast<size_t>(column));
  if (is_text(value) && text != texts_.end()) {
    const int first = text->second.line;
    throw Error(
        ErrorKind::data, {path_, first, place.key},
        "not a number (got `" + text->second.text + "`)" +
            (first == line(0) && first_row_is_text()
                 ? "; is line " + std::to_string(first) + " a row of units? Write them as [deg]"
                 : ""));
  }
  int64_t all = 0;
  for (int64_t i = 0; i < rows(); ++i) all += std::isnan(at(i, column)) ? 1 : 0;
  throw Error(
      ErrorKind::data, place,
      fmt::format("not a number (expected one, got {}): remove line {} (row {}, counted "
                  "from 0) or fill in a value; {}",
                  found_word(value), line(row), row,
                  all == 1 ? "no other row lacks it" : fmt::format("{} rows lack it", all)));
}

bool CsvTable::first_row_is_text() const {
  size_t texts = 0;
  for (size_t column = 0; column < columns_.size(); ++column) {
    texts += is_text(at(0, static_cast<int64_t>(column))) ? 1 : 0;
  }
  return 2 * texts > columns_.size();
}

}  // namespace rl_training
