#pragma once
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "rl_training/data/array_source.h"
#include "rl_training/data/column.h"
#include "rl_training/data/dataset_file.h"

namespace rl_training {

// A dataset of named arrays in memory. The arrays are read like the arrays of an npz file, with the
// same names, checks and messages. Reading does not change the arrays.
class MemoryArrays {
 public:
  // Error messages use this name instead of a path.
  static constexpr char kFile[] = "arrays";

  using Values = std::variant<Column<float>, Column<double>, Column<int64_t>, Column<int32_t>,
                              Column<uint8_t>>;
  // Adds an array with elements in C order. The column keeps the memory alive. `shape` must match
  // the number of elements.
  void add(const std::string& key, std::vector<int64_t> shape, Values values);

  // If the data is invalid, the next two functions throw Error{data} with the array and, if a
  // single row is at fault, the row.
  LoggedSteps steps(const DatasetReadOptions& options) const;
  FileTransitions transitions(const DatasetReadOptions& options) const;

 private:
  struct Array {
    std::vector<int64_t> shape;
    Values values;
  };
  class Source;

  LoggedSteps read(const DatasetReadOptions& options, ArrayMemory& memory) const;

  std::map<std::string, Array> arrays_;
};

}  // namespace rl_training
