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

// A file of named arrays of numbers (npz, HDF5). Every problem is Error{data} with the file and
// the key.
class ArraySource {
 public:
  virtual ~ArraySource() = default;

  virtual bool has(const std::string& key) = 0;
  // Known without reading the data; refuses what is not an array of numbers.
  virtual std::vector<int64_t> shape(const std::string& key) = 0;
  // The elements in C order.
  virtual std::vector<float> read_floats(const std::string& key) = 0;
  virtual std::vector<double> read_doubles(const std::string& key) = 0;

  // The same as blocks of whole rows: a source that can need not hold the array at once. Blocks
  // come in any order, and several at once on threads of the source.
  template <class T>
  using BlockUser = std::function<void(int64_t first_row, std::span<const T> values)>;
  virtual void read_blocks(const std::string& key, const BlockUser<float>& use);
  virtual void read_blocks(const std::string& key, const BlockUser<double>& use);
  // Into memory for exactly that many values. `look` sees every block.
  virtual void read_into(const std::string& key, std::span<float> out,
                         const BlockUser<float>& look);

  // The array itself, where it lies in memory as float32 and stays there as long as the column
  // lives.
  virtual std::optional<Column<float>> lend(const std::string& /*key*/) { return std::nullopt; }

  virtual ErrorPlace place(const std::string& key) const = 0;
};

}  // namespace rl_training
