#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rl_training/data/npy_header.h"

namespace rl_training {

// Writes an .npz with uncompressed members and no time stamps, so equal arrays give equal files.
class NpzWriter {
 public:
  void add(const std::string& key, std::span<const int64_t> shape, std::span<const float> values);
  void add(const std::string& key, std::span<const int64_t> shape, std::span<const double> values);
  void add(const std::string& key, std::span<const int64_t> shape, std::span<const int64_t> values);
  // Stored as booleans.
  void add_flags(const std::string& key, std::span<const uint8_t> values);
  // Stored as one unsigned integer per byte.
  void add_text(const std::string& key, std::string_view text);

  std::string bytes() const;

 private:
  void add_raw(const std::string& key, NpyType type, std::span<const int64_t> shape,
               const void* data, size_t size);

  std::vector<std::pair<std::string, std::string>> members_;  // name, content
};

}  // namespace rl_training
