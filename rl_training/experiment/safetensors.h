#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rl_training/util/state.h"

namespace rl_training {

// One named array, little endian and in C order.
struct ArchiveEntry {
  std::string name;
  DType dtype = DType::u8;
  std::vector<int64_t> shape;
  std::string bytes;
};

// "F32 [3, 4]", for messages.
std::string describe_array(DType dtype, const std::vector<int64_t>& shape);

// Writes the safetensors layout: an 8-byte header length, a JSON header padded to a multiple of 8
// bytes, then the arrays without gaps. Arrays are sorted by element size, largest first, then by
// name. Every array is therefore aligned, and the same entries always yield the same bytes.
std::string write_safetensors(const std::vector<ArchiveEntry>& entries);

// Returns the entries in file order. The file is not trusted: anything but a valid safetensors file
// throws Error{checkpoint} naming `file`. Every size is checked before memory is allocated for it.
std::vector<ArchiveEntry> read_safetensors(std::string_view bytes, const std::string& file);

}  // namespace rl_training
