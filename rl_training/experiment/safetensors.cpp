#include "rl_training/experiment/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "rl_training/experiment/checked_json.h"
#include "rl_training/util/error.h"
#include "rl_training/util/json.h"

namespace rl_training {
namespace {

static_assert(std::endian::native == std::endian::little, "the arrays are stored as in memory");

// A sorted map. The insertion-ordered Json type would take quadratic time for a hostile header with
// many names.
using HeaderJson = nlohmann::json;

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 16 << 20;
constexpr size_t kMaxHeaderDepth = 3;  // levels: header, entry, shape
constexpr size_t kMaxRank = 16;
constexpr char kMetadata[] = "__metadata__";

constexpr std::pair<DType, const char*> kDTypeNames[] = {{DType::u8, "U8"},
                                                         {DType::i64, "I64"},
                                                         {DType::u64, "U64"},
                                                         {DType::f32, "F32"},
                                                         {DType::f64, "F64"}};

const char* dtype_name(DType dtype) {
  for (const auto& [known, name] : kDTypeNames) {
    if (known == dtype) return name;
  }
  return "?";
}

[[noreturn]] void reject(const std::string& file, const std::string& key, const std::string& what) {
  throw Error(ErrorKind::checkpoint, {file, 0, key}, what);
}

// Computes the size of an array. Returns false if the size overflows or a dimension is negative.
bool array_bytes(DType dtype, const std::vector<int64_t>& shape, uint64_t& bytes) {
  bytes = static_cast<uint64_t>(dtype_size(dtype));
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) {
      return false;
    }
  }
  return true;
}

void check_entry(const ArchiveEntry& entry) {
  uint64_t bytes = 0;
  if (entry.name == kMetadata || !array_bytes(entry.dtype, entry.shape, bytes) ||
      bytes != entry.bytes.size()) {
    throw Error(ErrorKind::internal, {"", 0, entry.name},
                fmt::format("cannot be stored as {} from {} bytes",
                            describe_array(entry.dtype, entry.shape), entry.bytes.size()));
  }
}

HeaderJson parse_header(std::string_view text, const std::string& file) {
  if (text.empty() || text.front() != '{') reject(file, "", "the header is not a JSON object");
  check_json(text, file, kMaxHeaderDepth, text.size());
  return HeaderJson::parse(text.begin(), text.end());
}

struct Span {
  uint64_t begin = 0;
  uint64_t end = 0;
  ArchiveEntry entry;
};

std::vector<uint64_t> read_numbers(const HeaderJson& list, const std::string& file,
                                   const std::string& name, const char* what) {
  if (!list.is_array() || list.size() > kMaxRank) {
    reject(file, name, fmt::format("{} is not a short list of numbers", what));
  }
  std::vector<uint64_t> numbers;
  for (const HeaderJson& number : list) {
    if (!number.is_number_unsigned() ||
        number.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      reject(file, name, fmt::format("{} contains an entry that is not a size", what));
    }
    numbers.push_back(number.get<uint64_t>());
  }
  return numbers;
}

DType read_dtype(const HeaderJson& value, const std::string& file, const std::string& name) {
  if (value.is_string()) {
    for (const auto& [dtype, known] : kDTypeNames) {
      if (value.get_ref<const std::string&>() == known) return dtype;
    }
  }
  reject(file, name, "unknown dtype (expected U8, I64, U64, F32 or F64)");
}

Span read_span(const std::string& name, const HeaderJson& value, const std::string& file) {
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
      !value.contains("shape") || !value.contains("data_offsets")) {
    reject(file, name, "the header entry is not {dtype, shape, data_offsets}");
  }
  Span span;
  span.entry.name = name;
  span.entry.dtype = read_dtype(value["dtype"], file, name);
  for (const uint64_t size : read_numbers(value["shape"], file, name, "shape")) {
    span.entry.shape.push_back(static_cast<int64_t>(size));
  }
  const auto offsets = read_numbers(value["data_offsets"], file, name, "data_offsets");
  uint64_t bytes = 0;
  if (offsets.size() != 2 || offsets[0] > offsets[1] ||
      !array_bytes(span.entry.dtype, span.entry.shape, bytes) || bytes != offsets[1] - offsets[0]) {
    reject(file, name,
           fmt::format("data_offsets do not fit {}",
                       describe_array(span.entry.dtype, span.entry.shape)));
  }
  span.begin = offsets[0];
  span.end = offsets[1];
  return span;
}

void check_metadata(const HeaderJson& value, const std::string& file) {
  const bool texts =
      value.is_object() &&
      std::all_of(value.begin(), value.end(), [](const HeaderJson& v) { return v.is_string(); });
  if (!texts) reject(file, kMetadata, "is not an object of strings");
}

}  // namespace

std::string describe_array(DType dtype, const std::vector<int64_t>& shape) {
  return fmt::format("{} [{}]", dtype_name(dtype), fmt::join(shape, ", "));
}

std::string write_safetensors(const std::vector<ArchiveEntry>& entries) {
  std::vector<const ArchiveEntry*> order;
  for (const auto& entry : entries) {
    check_entry(entry);
    order.push_back(&entry);
  }
  std::sort(order.begin(), order.end(), [](const ArchiveEntry* a, const ArchiveEntry* b) {
    const auto width_a = dtype_size(a->dtype);
    const auto width_b = dtype_size(b->dtype);
    return width_a != width_b ? width_a > width_b : a->name < b->name;
  });

  std::set<std::string_view> names;
  std::string header = "{";
  uint64_t offset = 0;
  for (const ArchiveEntry* entry : order) {
    if (!names.insert(entry->name).second) {
      throw Error(ErrorKind::internal, {"", 0, entry->name}, "two arrays have this name");
    }
    const uint64_t end = offset + entry->bytes.size();
    // The header is built as text: an insertion-ordered object would search all earlier names for
    // each new name.
    const Json value = {{"dtype", dtype_name(entry->dtype)},
                        {"shape", entry->shape},
                        {"data_offsets", {offset, end}}};
    if (header.size() > 1) header += ",";
    header += Json(entry->name).dump() + ":" + value.dump();
    offset = end;
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  if (header.size() > kMaxHeaderBytes) {
    throw Error(ErrorKind::internal,
                fmt::format("too many arrays for one archive (got {})", entries.size()));
  }

  const uint64_t length = header.size();
  std::string bytes;
  bytes.reserve(kLengthBytes + length + offset);
  bytes.append(reinterpret_cast<const char*>(&length), kLengthBytes);
  bytes += header;
  for (const ArchiveEntry* entry : order) bytes += entry->bytes;
  return bytes;
}

std::vector<ArchiveEntry> read_safetensors(std::string_view bytes, const std::string& file) {
  if (bytes.size() < kLengthBytes) reject(file, "", "too short for a safetensors file");
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  bytes.remove_prefix(kLengthBytes);
  if (length > kMaxHeaderBytes || length > bytes.size()) {
    reject(file, "",
           fmt::format("a header of {} bytes (expected at most {})", length,
                       std::min<uint64_t>(kMaxHeaderBytes, bytes.size())));
  }
  const HeaderJson header = parse_header(bytes.substr(0, length), file);
  const std::string_view data = bytes.substr(length);

  std::vector<Span> spans;
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadata) {
      check_metadata(value, file);
    } else {
      spans.push_back(read_span(name, value, file));
    }
  }
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t covered = 0;
  for (const Span& span : spans) {
    if (span.begin != covered) {
      reject(file, span.entry.name,
             fmt::format("a gap or overlap (expected offset {}, got {})", covered, span.begin));
    }
    covered = span.end;
  }
  if (covered != data.size()) {
    reject(file, "", fmt::format("holds {} bytes of arrays (expected {})", data.size(), covered));
  }

  std::vector<ArchiveEntry> entries;
  for (Span& span : spans) {
    span.entry.bytes = data.substr(span.begin, span.end - span.begin);
    entries.push_back(std::move(span.entry));
  }
  return entries;
}

}  // namespace rl_training
