#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rl_training {

// A CSV file of numbers under one header row, as loggers, spreadsheets and data frames write it:
// - separated by commas, semicolons or tabs, whichever is most frequent in the header; unless it is
//   the comma, a comma in a number is a decimal comma;
// - a byte order mark, quotes around fields, a separator at the end of each line, gzip;
// - True and False are 1 and 0; an empty field, NA, N/A, null and None are missing;
// - lines that begin with # are comments. `# units: rad, Nm` or a row of [rad],[Nm] under the
// header states units; the header may itself be the last comment, as numpy.savetxt writes it.
// Missing values, the number NaN and text are stored as NaN; requesting them as numbers is an
// error.
class CsvTable {
 public:
  explicit CsvTable(const std::string& path);
  // From memory; messages use `name` as the file.
  CsvTable(std::string_view content, const std::string& name);

  const std::string& path() const { return path_; }
  int64_t rows() const { return static_cast<int64_t>(lines_.size()); }
  const std::vector<std::string>& columns() const { return columns_; }
  // The column's name with its unit, "speed [m/s]".
  std::string full_name(int64_t column) const;
  // Index of the column with this name, with or without its unit in brackets; -1 if there is none.
  int64_t find(std::string_view column) const;
  // The columns name0, name1, ... (or name_0, name_1, ...) in that order.
  std::vector<int64_t> find_numbered(std::string_view name) const;

  double at(int64_t row, int64_t column) const { return values_[cell(row, column)]; }
  // The same, but throws if a value is missing, not a number or not finite.
  double finite_at(int64_t row, int64_t column) const;
  // Whether a column has the same value, number or text, in two rows.
  bool equal(int64_t row, int64_t other, int64_t column) const;
  int line(int64_t row) const { return lines_[static_cast<size_t>(row)]; }

 private:
  struct Text {
    int line = 0;
    std::string text;
  };

  size_t cell(int64_t row, int64_t column) const {
    return static_cast<size_t>(row) * columns_.size() + static_cast<size_t>(column);
  }
  bool first_row_is_text() const;  // most of its fields
  void parse(std::string_view content);
  void choose_separator(std::string_view header);
  std::vector<std::string> split(std::string_view line) const;
  void read_header(std::string_view line, int number);
  bool read_units(const std::vector<std::string>& fields);
  bool is_units_row(std::string_view line);
  void read_comment(std::string_view text);
  void read_row(std::string_view line, int number);
  double read_number(std::string_view word, int number, size_t column);

  std::string path_;
  char separator_ = ',';
  bool separator_at_end_ = false;
  std::string comment_;  // the last comment before the header
  std::string units_comment_;
  std::vector<std::string> columns_, units_;
  std::vector<double> values_;
  std::vector<int> lines_;
  std::map<size_t, Text> texts_;  // the first text of a column
};

}  // namespace rl_training
