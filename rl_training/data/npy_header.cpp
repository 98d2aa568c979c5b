#include "rl_training/data/npy_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

namespace rl_training {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxRank = 8;

struct TypeName {
  NpyType type;
  std::string_view name;
};
constexpr std::array<TypeName, 12> kTypes = {{{NpyType::b1, "b1"},
                                              {NpyType::i1, "i1"},
                                              {NpyType::i2, "i2"},
                                              {NpyType::i4, "i4"},
                                              {NpyType::i8, "i8"},
                                              {NpyType::u1, "u1"},
                                              {NpyType::u2, "u2"},
                                              {NpyType::u4, "u4"},
                                              {NpyType::u8, "u8"},
                                              {NpyType::f2, "f2"},
                                              {NpyType::f4, "f4"},
                                              {NpyType::f8, "f8"}}};

// Replaces unprintable bytes of an untrusted file, for error messages.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) out += c >= 32 && c < 127 ? c : '?';
  return out;
}

// Parses headers such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } and rejects
// all other Python literals.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const ErrorPlace& place)
      : whole_(text), rest_(text), place_(place) {}

  NpyHeader parse() {
    NpyHeader header;
    std::set<std::string> seen;
    expect('{');
    while (!accept('}')) {
      const std::string name = quoted();
      if (!seen.insert(name).second) fail("an entry appears twice");
      expect(':');
      if (name == "descr") {
        read_descr(header);
      } else if (name == "fortran_order") {
        header.fortran_order = boolean();
      } else if (name == "shape") {
        header.shape = shape();
      } else {
        fail("unknown entry");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!rest_.empty()) fail("text after the dictionary");
    if (seen.size() != 3) fail("descr, fortran_order or shape is missing");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorKind::data, place_,
                "bad npy header: " + why + " (got `" + shown(whole_) + "`)");
  }
  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t')) {
      rest_.remove_prefix(1);
    }
  }
  bool accept(char c) {
    skip_space();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected `") + c + "`");
  }
  bool accept_word(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::string quoted() {
    skip_space();
    const char quote = rest_.empty() ? '\0' : rest_[0];
    if (quote != '\'' && quote != '"') fail("expected a quoted name");
    const auto end = rest_.find(quote, 1);
    if (end == std::string_view::npos) fail("a quote does not end");
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool boolean() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    fail("fortran_order is neither True nor False");
  }

  std::vector<int64_t> shape() {
    std::vector<int64_t> dims;
    expect('(');
    while (!accept(')')) {
      skip_space();
      int64_t value = 0;
      const auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (code != std::errc() || value < 0) fail("a dimension is not a number >= 0");
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      dims.push_back(value);
      if (dims.size() > kMaxRank) fail("too many dimensions");
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return dims;
  }

  void read_descr(NpyHeader& header) {
    skip_space();
    if (rest_.starts_with("[")) refuse_type("a structured type");
    const std::string descr = quoted();
    if (descr.find('O') != std::string::npos) refuse_type("pickled objects");
    if (descr.size() < 2) refuse_type("`" + shown(descr) + "`");
    const char order = descr[0];
    for (const auto& [type, name] : kTypes) {
      if (name != std::string_view(descr).substr(1)) continue;
      const bool one_byte = npy_type_size(type) == 1;
      if (order != '<' && order != '>' && !(one_byte && order == '|')) break;
      header.type = type;
      header.big_endian = !one_byte && order == '>';
      return;
    }
    refuse_type("`" + shown(descr) + "`");
  }
  [[noreturn]] void refuse_type(const std::string& got) const {
    throw Error(
        ErrorKind::data, place_,
        "unsupported array type (expected booleans, integers or f2, f4, f8, got " + got + ")");
  }

  std::string_view whole_, rest_;
  const ErrorPlace& place_;
};

size_t length_bytes(std::string_view first_bytes, const ErrorPlace& place) {
  if (first_bytes.size() < 10 || !first_bytes.starts_with(kMagic)) {
    throw Error(ErrorKind::data, place, "not an npy array (the magic bytes are missing)");
  }
  const int major = static_cast<unsigned char>(first_bytes[6]);
  if (major < 1 || major > 3 || first_bytes[7] != 0) {
    throw Error(ErrorKind::data, place,
                "unknown npy version (expected 1.0, 2.0 or 3.0, got " + std::to_string(major) +
                    "." + std::to_string(static_cast<unsigned char>(first_bytes[7])) + ")");
  }
  return major == 1 ? 2 : 4;
}

}  // namespace

int64_t npy_type_size(NpyType type) {
  switch (type) {
    case NpyType::b1:
    case NpyType::i1:
    case NpyType::u1:
      return 1;
    case NpyType::i2:
    case NpyType::u2:
    case NpyType::f2:
      return 2;
    case NpyType::i4:
    case NpyType::u4:
    case NpyType::f4:
      return 4;
    default:
      return 8;
  }
}

int64_t npy_prologue_length(std::string_view first_bytes, const ErrorPlace& place) {
  const size_t width = length_bytes(first_bytes, place);
  if (first_bytes.size() < 8 + width) {
    throw Error(ErrorKind::data, place, "the npy header is cut off");
  }
  int64_t length = 0;
  for (size_t i = 0; i < width; ++i) {
    length |= static_cast<int64_t>(static_cast<unsigned char>(first_bytes[8 + i])) << (8 * i);
  }
  return static_cast<int64_t>(8 + width) + length;
}

NpyHeader parse_npy_header(std::string_view prologue, const ErrorPlace& place) {
  const size_t start = 8 + length_bytes(prologue, place);
  NpyHeader header = HeaderParser(prologue.substr(std::min(start, prologue.size())), place).parse();
  header.data_offset = static_cast<int64_t>(prologue.size());
  header.count = 1;
  int64_t bytes = npy_type_size(header.type);
  bool overflow = false;
  for (const int64_t dim : header.shape) {
    // Counts a dimension of 0 as 1. Otherwise a 0 would hide an overflow of the other dimensions,
    // from which strides are computed.
    overflow |= __builtin_mul_overflow(bytes, std::max<int64_t>(dim, 1), &bytes);
    if (!overflow) header.count *= dim;
  }
  overflow |= __builtin_add_overflow(bytes, header.data_offset, &bytes);
  if (overflow) {
    throw Error(ErrorKind::data, place, "the shape is too large, got " + shape_text(header.shape));
  }
  return header;
}

std::string make_npy_header(NpyType type, std::span<const int64_t> shape) {
  std::string_view name;
  for (const auto& entry : kTypes) {
    if (entry.type == type) name = entry.name;
  }
  const char order = npy_type_size(type) == 1 ? '|' : '<';
  std::string dict = std::string("{'descr': '") + order + std::string(name) +
                     "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  // Magic, version and length take 10 bytes. The padding makes the data begin at a multiple of 64.
  while ((10 + dict.size() + 1) % 64 != 0) dict += ' ';
  dict += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(dict.size() & 0xff);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace rl_training
