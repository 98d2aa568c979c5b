#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rl_training/data/array_source.h"
#include "rl_training/data/column.h"
#include "rl_training/data/descriptor.h"
#include "rl_training/util/json.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {

// An array whose values are contiguous in a file and have the same format as in memory.
struct PlainArray {
  enum class Item { int8, uint8, float32, float64 };
  Item item = Item::float32;
  std::vector<int64_t> shape;
  int64_t offset = 0;
};

using PlainArrays = std::map<std::string, PlainArray>;

// Reads arrays at known positions of a file, on several threads. A parser in a sandbox reports the
// positions. The parser is not trusted, so positions are checked against the size of the file.
class PlainFile final : public ArraySource {
 public:
  // Returns numbers that identify the file and its current content.
  static Json marks(const std::string& path);
  // Returns a description for the constructor.
  static Json describe(const Json& marks, const PlainArrays& arrays);

  // Throws Error{data} if an array extends beyond the end of the file, or if the file has changed
  // since marks() was called. read_into() writes values with `memory.store()`.
  PlainFile(const std::string& path, const Json& description, ArrayMemory& memory);

  bool has(const std::string& key) override { return arrays_.count(key) > 0; }
  std::vector<int64_t> shape(const std::string& key) override { return arrays_.at(key).shape; }
  bool is_integer(const std::string& key) override {
    const auto item = arrays_.at(key).item;
    return item == PlainArray::Item::int8 || item == PlainArray::Item::uint8;
  }
  std::vector<float> read_floats(const std::string& key) override;
  std::vector<double> read_doubles(const std::string& key) override;
  void read_into(const std::string& key, std::span<float> out,
                 const BlockUser<float>& look) override;
  void read_blocks(const std::string& key, const BlockUser<float>& use) override;
  void read_blocks(const std::string& key, const BlockUser<double>& use) override;

  ErrorPlace place(const std::string& key) const override { return {path_, 0, key}; }

 private:
  template <class T>
  void read_part(const std::string& key, int64_t first, std::span<T> out);
  template <class T>
  std::vector<T> read_all(const std::string& key);
  template <class T>
  void read_all_blocks(const std::string& key, const BlockUser<T>& use);
  // Calls body(first row, rows) for blocks of whole rows, on several threads. If several calls
  // throw, rethrows the exception of the lowest block.
  template <class Body>
  void for_blocks(const std::string& key, const Body& body);
  void read_bytes(const std::string& key, int64_t offset, void* out, int64_t bytes);

  std::string path_;
  Descriptor file_;
  PlainArrays arrays_;
  ArrayMemory& memory_;
  std::unique_ptr<ThreadPool> pool_;  // started if there is more than one block
};

}  // namespace rl_training
