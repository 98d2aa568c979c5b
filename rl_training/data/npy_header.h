#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rl_training/util/error.h"

namespace rl_training {

// NumPy's type codes: boolean (b), signed integer (i), unsigned integer (u) or float (f), followed
// by the size in bytes. All types before f2 are integers or booleans. NpzReader::is_integer relies
// on this order.
enum class NpyType { b1, i1, i2, i4, i8, u1, u2, u4, u8, f2, f4, f8 };

int64_t npy_type_size(NpyType type);

// Describes the array in a .npy file.
struct NpyHeader {
  NpyType type = NpyType::f4;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<int64_t> shape;
  int64_t count = 0;        // product of `shape`
  int64_t data_offset = 0;  // bytes before the data: magic, version, length and header
};

// The longest accepted prologue in bytes: magic, version, length and header. NumPy writes 128 bytes
// for plain arrays.
constexpr int64_t kMaxNpyPrologue = 12 + 65535;

// Returns the length of the whole prologue. `first_bytes` are its first 12 bytes (10 for version
// 1.0).
int64_t npy_prologue_length(std::string_view first_bytes, const ErrorPlace& place);

// Reads a complete prologue. Parses the Python dictionary in the header as a literal and evaluates
// nothing. Throws Error{data} with `place` for objects (pickle), structured types, text types, and
// arrays of 2^63 or more bytes.
NpyHeader parse_npy_header(std::string_view prologue, const ErrorPlace& place);

// Returns the prologue of a little-endian array in C order, as NumPy writes it.
std::string make_npy_header(NpyType type, std::span<const int64_t> shape);

// The shape in Python's notation, for example "(3, 4)".
std::string shape_text(std::span<const int64_t> shape);

}  // namespace rl_training
