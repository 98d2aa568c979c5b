#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rl_training/data/array_source.h"

namespace rl_training {

// A file of arrays together with arrays that are computed from those of the file. The arrays of the
// file are passed through.
class MappedArrays final : public ArraySource {
 public:
  explicit MappedArrays(ArraySource& file) : file_(file) {}

  ArraySource& file() { return file_; }

  // An array of this shape; `compute` returns its elements in C order. Messages about it name
  // `shown`, an array of the file.
  struct Derived {
    std::string shown;
    std::vector<int64_t> shape;
    std::function<std::vector<double>()> compute;
  };
  void add(const std::string& key, Derived array);
  // Concatenates arrays with the same number of rows by column; a vector is a matrix of one column.
  void add_side_by_side(const std::string& key, const std::vector<std::string>& names);

  bool has(const std::string& key) override;
  std::vector<std::string> names() override { return file_.names(); }
  std::vector<int64_t> shape(const std::string& key) override;
  bool is_integer(const std::string& key) override;
  std::vector<float> read_floats(const std::string& key) override;
  std::vector<double> read_doubles(const std::string& key) override;
  void read_blocks(const std::string& key, const BlockUser<float>& use) override;
  void read_blocks(const std::string& key, const BlockUser<double>& use) override;
  void read_into(const std::string& key, std::span<float> out,
                 const BlockUser<float>& look) override;
  std::optional<Column<float>> lend(const std::string& key) override;
  ErrorPlace place(const std::string& key) const override;

 private:
  ArraySource& file_;
  std::map<std::string, Derived> derived_;
};

}  // namespace rl_training
