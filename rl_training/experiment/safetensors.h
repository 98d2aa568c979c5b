#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rl_training/util/state.h"

namespace rl_training {

// One named array: little endian, C order.
struct ArchiveEntry {
  std::string name;
  DType dtype = DType::u8;
  std::vector<int64_t> shape;
  std::string bytes;
};

// "F32 [3, 4]", for messages.
std::string describe_array(DType dtype, const std::vector<int64_t>& shape);

// The safetensors layout: 8 bytes of header length, a JSON header padded to a multiple of 8, then
// the arrays without gaps. Arrays are sorted by width, widest first, then by name, so that every
// array is aligned and the same entries always give the same bytes.
std::string write_safetensors(const std::vector<ArchiveEntry>& entries);

// Entries in file order. The file is not trusted: any deviation from this layout throws
// Error{checkpoint} naming `file`, before memory is allocated for sizes claimed by a header.
std::vector<ArchiveEntry> read_safetensors(std::string_view bytes, const std::string& file);

}  // namespace rl_training
