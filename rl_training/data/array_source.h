#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rl_training/data/column.h"
#include "rl_training/util/error.h"

namespace rl_training {

// A file of named arrays of numbers (npz, HDF5). If reading fails, the functions throw Error{data}
// with the file and the key.
class ArraySource {
 public:
  virtual ~ArraySource() = default;

  virtual bool has(const std::string& key) = 0;
  // Names of the arrays, for error messages. Empty if the names are unknown.
  virtual std::vector<std::string> names() { return {}; }
  // Does not read the data. Throws if `key` is not an array of numbers.
  virtual std::vector<int64_t> shape(const std::string& key) = 0;
  // Whether the elements are stored as integers or booleans.
  virtual bool is_integer(const std::string& /*key*/) { return false; }
  // The elements in C order.
  virtual std::vector<float> read_floats(const std::string& key) = 0;
  virtual std::vector<double> read_doubles(const std::string& key) = 0;

  // Reads the elements in blocks of whole rows, so that a source need not keep the whole array in
  // memory. The source may call `use` for the blocks in any order, concurrently on several threads.
  template <class T>
  using BlockUser = std::function<void(int64_t first_row, std::span<const T> values)>;
  virtual void read_blocks(const std::string& key, const BlockUser<float>& use);
  virtual void read_blocks(const std::string& key, const BlockUser<double>& use);
  // Reads into `out`, which must have exactly the size of the array. Calls `look` for every block.
  virtual void read_into(const std::string& key, std::span<float> out,
                         const BlockUser<float>& look);

  // Returns the array without copying it if it is in memory as float32. Otherwise returns nothing.
  // The column keeps the memory alive.
  virtual std::optional<Column<float>> lend(const std::string& /*key*/) { return std::nullopt; }

  virtual ErrorPlace place(const std::string& key) const = 0;
};

// Throws Error{data} whose message lists the arrays of the file and ends with `advice`.
[[noreturn]] void throw_no_such_array(ArraySource& source, const std::string& key,
                                      const std::string& advice = "");

// Lists the names that a file has instead of `wanted`, for error messages. Lists at most eight
// names. Example: "rewards, actions; did you mean `actions`?".
std::string present_names(const std::vector<std::string>& names, const std::string& wanted);

}  // namespace rl_training
