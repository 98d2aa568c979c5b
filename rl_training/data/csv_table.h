#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rl_training {

// A CSV file of numbers under one header row. An empty field is missing and reads as NaN.
// Anything else that is not a number: Error{data} with file and line.
class CsvTable {
 public:
  explicit CsvTable(const std::string& path);

  const std::string& path() const { return path_; }
  int64_t rows() const { return static_cast<int64_t>(lines_.size()); }
  const std::vector<std::string>& columns() const { return columns_; }
  int64_t find(std::string_view column) const;  // -1: not there
  // The columns name0, name1, ... in that order.
  std::vector<int64_t> find_numbered(std::string_view name) const;

  double at(int64_t row, int64_t column) const {
    return values_[static_cast<size_t>(row) * columns_.size() + static_cast<size_t>(column)];
  }
  // The same, but missing or not finite is an error.
  double finite_at(int64_t row, int64_t column) const;
  int line(int64_t row) const { return lines_[static_cast<size_t>(row)]; }

 private:
  void read_header(std::string_view text);
  void read_row(std::string_view text, int line);

  std::string path_;
  std::vector<std::string> columns_;
  std::vector<double> values_;
  std::vector<int> lines_;
};

}  // namespace rl_training
