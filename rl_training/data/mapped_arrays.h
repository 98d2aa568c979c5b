#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rl_training/data/array_source.h"

namespace rl_training {

// Presents the arrays of a file together with derived arrays, which are computed from the arrays of
// the file. The file does not change.
class MappedArrays final : public ArraySource {
 public:
  explicit MappedArrays(ArraySource& file) : file_(file) {}

  ArraySource& file() { return file_; }

  // A derived array. `compute` returns the elements in C order. Error messages show `shown`, for
  // example the name of an array of the file, instead of the key of the derived array.
  struct Derived {
    std::string shown;
    std::vector<int64_t> shape;
    std::function<std::vector<double>()> compute;
  };
  void add(const std::string& key, Derived array);
  // Adds an array that concatenates the columns of the arrays `names`, which must have the same
  // number of rows. A vector counts as one column.
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
