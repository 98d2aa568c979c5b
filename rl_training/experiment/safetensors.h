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

// The safetensors layout: 8 bytes of header length, a JSON header padded to a multiple of 8, the
// arrays without gaps. Wide types come first, then by name, so that every array is aligned and the
// same entries give the same bytes whatever their order.
std::string write_safetensors(const std::vector<ArchiveEntry>& entries);

// Entries in file order. The file is not trusted: anything that is not exactly this layout throws
// Error{checkpoint} naming `file`, before memory is taken for what a header only claims.
std::vector<ArchiveEntry> read_safetensors(std::string_view bytes, const std::string& file);

}  // namespace rl_training
