#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rl_training/data/npy_header.h"

namespace rl_training {

// Creates an .npz file with uncompressed members and a fixed date, so equal arrays produce equal
// files.
class NpzWriter {
 public:
  void add(const std::string& key, std::span<const int64_t> shape, std::span<const float> values);
  void add(const std::string& key, std::span<const int64_t> shape, std::span<const double> values);
  void add(const std::string& key, std::span<const int64_t> shape, std::span<const int64_t> values);
  // Stores the values as booleans.
  void add_flags(const std::string& key, std::span<const uint8_t> values);
  // Stores each byte of the text as an unsigned 8-bit integer.
  void add_text(const std::string& key, std::string_view text);

  std::string bytes() const;

 private:
  void add_raw(const std::string& key, NpyType type, std::span<const int64_t> shape,
               const void* data, size_t size);

  std::vector<std::pair<std::string, std::string>> members_;  // name, content
};

}  // namespace rl_training
