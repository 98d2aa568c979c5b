#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rl_training {

// A CSV file of numbers with one header row, as written by loggers, spreadsheets and data frames:
// - The separator is a comma, semicolon or tab, whichever is most frequent in the header. If the
//   separator is not a comma, a comma in a number is a decimal comma.
// - The file may begin with a byte order mark, quote its fields, end each line with a separator,
//   and be compressed with gzip.
// - True and False are read as 1 and 0. An empty field, NA, N/A, #N/A, null and None are missing
//   values.
// - Lines that begin with # are comments. The comment `# units: rad, Nm` or a row [rad],[Nm] under
//   the header states units. The last comment before the data may be the header, as in files of
//   numpy.savetxt.
// Missing values, the number NaN and text are stored as NaN. finite_at() throws for these values.
class CsvTable {
 public:
  explicit CsvTable(const std::string& path);
  // Parses `content`. Error messages use `name` as the file name.
  CsvTable(std::string_view content, const std::string& name);

  const std::string& path() const { return path_; }
  int64_t rows() const { return static_cast<int64_t>(lines_.size()); }
  const std::vector<std::string>& columns() const { return columns_; }
  // The column's name with its unit, for example "speed [m/s]".
  std::string full_name(int64_t column) const;
  // Index of the column with this name, with or without its unit in brackets; -1 if there is no
  // such column.
  int64_t find(std::string_view column) const;
  // The columns name0, name1, ... (or name_0, name_1, ...) in that order.
  std::vector<int64_t> find_numbered(std::string_view name) const;

  double at(int64_t row, int64_t column) const { return values_[cell(row, column)]; }
  // Like at(), but throws if the value is missing, not a number or not finite.
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
  bool first_row_is_text() const;  // whether most fields of the first row are text
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
  std::map<size_t, Text> texts_;  // first text field of each column, by column index
};

}  // namespace rl_training
