#include "rl_training/data/npz_archive.h"

#include <sys/stat.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

namespace rl_training {
namespace {

static_assert(std::endian::native == std::endian::little, "array data are copied byte by byte");

constexpr std::string_view kSuffix = ".npy";
constexpr int64_t kMaxMembers = 10'000;

[[noreturn]] void fail_to_open(const std::string& file, zip_error_t& error) {
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  throw Error(ErrorKind::data, {file, 0, ""}, "not a complete npz (zip) file: " + reason);
}

double half_to_double(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double mantissa = bits & 1023;
  double value = 0;
  if (exponent == 31) {
    value = mantissa == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, -24);
  } else {
    value = std::ldexp(mantissa + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

template <class Raw>
Raw load(const char* bytes, bool swap) {
  std::array<char, sizeof(Raw)> copy;
  std::memcpy(copy.data(), bytes, sizeof(Raw));
  if (swap) std::reverse(copy.begin(), copy.end());
  return std::bit_cast<Raw>(copy);
}

template <class T>
T decode(const char* bytes, NpyType type, bool swap) {
  switch (type) {
    case NpyType::b1:
    case NpyType::u1:
      return static_cast<T>(load<uint8_t>(bytes, swap));
    case NpyType::i1:
      return static_cast<T>(load<int8_t>(bytes, swap));
    case NpyType::i2:
      return static_cast<T>(load<int16_t>(bytes, swap));
    case NpyType::i4:
      return static_cast<T>(load<int32_t>(bytes, swap));
    case NpyType::i8:
      return static_cast<T>(load<int64_t>(bytes, swap));
    case NpyType::u2:
      return static_cast<T>(load<uint16_t>(bytes, swap));
    case NpyType::u4:
      return static_cast<T>(load<uint32_t>(bytes, swap));
    case NpyType::u8:
      return static_cast<T>(load<uint64_t>(bytes, swap));
    case NpyType::f2:
      return static_cast<T>(half_to_double(load<uint16_t>(bytes, swap)));
    case NpyType::f4:
      return static_cast<T>(load<float>(bytes, swap));
    case NpyType::f8:
      return static_cast<T>(load<double>(bytes, swap));
  }
  return T();
}

// Iterates over the elements of a Fortran-order array in file order. next() returns the index of
// the element in C order.
class FortranWalk {
 public:
  explicit FortranWalk(const std::vector<int64_t>& shape)
      : shape_(shape), stride_(shape.size(), 1), index_(shape.size(), 0) {
    for (size_t i = shape.size(); i-- > 1;) stride_[i - 1] = stride_[i] * shape[i];
  }
  int64_t next() {
    const int64_t here = offset_;
    for (size_t i = 0; i < shape_.size(); ++i) {  // the first index varies fastest
      offset_ += stride_[i];
      if (++index_[i] < shape_[i]) break;
      offset_ -= stride_[i] * shape_[i];
      index_[i] = 0;
    }
    return here;
  }

 private:
  const std::vector<int64_t>& shape_;
  std::vector<int64_t> stride_, index_;
  int64_t offset_ = 0;
};

}  // namespace

// An open member of the archive, which is read sequentially.
class NpzReader::Stream {
 public:
  Stream(zip* archive, const Member& member, ErrorPlace place)
      : place_(std::move(place)), file_(zip_fopen_index(archive, member.index, 0)) {
    if (!file_) fail(zip_strerror(archive));
  }
  ~Stream() { zip_fclose(file_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Reads up to `size` bytes and returns their number.
  int64_t read_some(char* out, int64_t size) {
    int64_t done = 0;
    while (done < size) {
      const auto count = zip_fread(file_, out + done, static_cast<zip_uint64_t>(size - done));
      if (count < 0) fail(zip_file_strerror(file_));
      if (count == 0) break;
      done += count;
    }
    return done;
  }
  void read(char* out, int64_t size) {
    if (read_some(out, size) != size) fail("the data are truncated");
  }
  // Throws if there is more data. libzip verifies the checksum when it reaches the end.
  void expect_end() {
    char extra = 0;
    if (read_some(&extra, 1) != 0) fail("the data are longer than the directory says");
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(ErrorKind::data, place_, "cannot read the array: " + reason);
  }

  ErrorPlace place_;
  zip_file* file_;
};

NpzReader::NpzReader(const std::string& path) : file_(path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    throw Error(ErrorKind::data, {path, 0, ""},
                std::string("cannot open: ") + std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) {
    throw Error(ErrorKind::data, {path, 0, ""}, "cannot open: not a regular file");
  }
  int code = 0;
  archive_.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive_) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    fail_to_open(file_, error);
  }
  read_directory(info.st_size);
}

NpzReader::NpzReader(std::span<const char> bytes, const std::string& name) : file_(name) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (!source) fail_to_open(file_, error);
  archive_.reset(zip_open_from_source(source, ZIP_RDONLY, &error));
  if (!archive_) {
    zip_source_free(source);
    fail_to_open(file_, error);
  }
  zip_error_fini(&error);
  read_directory(static_cast<int64_t>(bytes.size()));
}

void NpzReader::Close::operator()(zip* archive) const { zip_discard(archive); }

// Reads names and sizes from the central directory, because the local headers contain wrong values
// if the file was written to a pipe.
void NpzReader::read_directory(int64_t file_size) {
  const auto fail = [&](const std::string& key, const std::string& message) {
    throw Error(ErrorKind::data, place(key), message);
  };
  const int64_t count = zip_get_num_entries(archive_.get(), 0);
  if (count > kMaxMembers) fail("", "too many arrays, got " + std::to_string(count));
  int64_t stored = 0;
  for (int64_t i = 0; i < count; ++i) {
    zip_stat_t info;
    constexpr zip_uint64_t kNeeded =
        ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_CRC;
    if (zip_stat_index(archive_.get(), static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW, &info) != 0 ||
        (info.valid & kNeeded) != kNeeded) {
      fail("", "the directory of the npz file is damaged");
    }
    std::string name = info.name;
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
      return c >= 32 && c < 127 && c != '/' && c != '\\';
    });
    if (!plain || !name.ends_with(kSuffix) || name.size() > 200) {
      fail("", "unexpected member " + std::to_string(i) + " (expected plain names ending in .npy)");
    }
    name.resize(name.size() - kSuffix.size());
    Member entry;
    entry.index = static_cast<uint64_t>(i);
    entry.method = info.comp_method;
    entry.encryption = (info.valid & ZIP_STAT_ENCRYPTION_METHOD) ? info.encryption_method : 0;
    if (info.comp_size > static_cast<zip_uint64_t>(file_size - stored)) {
      fail(name, "the members overlap or are cut off");
    }
    entry.stored_size = static_cast<int64_t>(info.comp_size);
    stored += entry.stored_size;
    if (info.size > static_cast<zip_uint64_t>(kMaxNpzBytes)) {
      fail(name, "the array is larger than the limit of 8 GiB");
    }
    entry.size = static_cast<int64_t>(info.size);
    const int64_t ratio = entry.size > kLargeNpzArray ? kMaxLargeDeflateRatio : kMaxDeflateRatio;
    if (entry.size / ratio > std::max<int64_t>(entry.stored_size, 1)) {
      fail(name, "implausibly high compression, rejected as a decompression bomb");
    }
    if (!members_.emplace(name, entry).second) fail(name, "the file holds this array twice");
  }
}

std::vector<std::string> NpzReader::keys() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : members_) names.push_back(name);
  return names;
}

NpzReader::Member& NpzReader::member(const std::string& key) {
  const auto found = members_.find(key);
  if (found == members_.end()) throw Error(ErrorKind::data, place(key), "no such array");
  return found->second;
}

const NpyHeader& NpzReader::header(const std::string& key) {
  Member& entry = member(key);
  if (entry.header) return *entry.header;
  if (entry.encryption != ZIP_EM_NONE) {
    throw Error(ErrorKind::data, place(key), "the array is encrypted");
  }
  if (entry.method != ZIP_CM_STORE && entry.method != ZIP_CM_DEFLATE) {
    throw Error(ErrorKind::data, place(key),
                "unsupported compression (expected stored or deflate, got method " +
                    std::to_string(entry.method) + ")");
  }
  Stream stream(archive_.get(), entry, place(key));
  std::string prologue(12, '\0');
  prologue.resize(static_cast<size_t>(stream.read_some(prologue.data(), 12)));
  const int64_t length = npy_prologue_length(prologue, place(key));
  const auto first = static_cast<int64_t>(prologue.size());
  if (length < first || length > kMaxNpyPrologue || length > entry.size) {
    throw Error(ErrorKind::data, place(key), "bad npy header: its length runs past the data");
  }
  prologue.resize(static_cast<size_t>(length));
  stream.read(prologue.data() + first, length - first);

  const NpyHeader header = parse_npy_header(prologue, place(key));
  const int64_t expected = header.data_offset + header.count * npy_type_size(header.type);
  if (expected != entry.size) {
    throw Error(ErrorKind::data, place(key),
                "shape " + shape_text(header.shape) + " does not fit the data (expected " +
                    std::to_string(expected) + " bytes, got " + std::to_string(entry.size) + ")");
  }
  entry.header = header;
  return *entry.header;
}

template <class T>
int64_t NpzReader::admit(const std::string& key) {
  const NpyHeader& header = this->header(key);
  // Conversion to T enlarges small types and shrinks large types. Counts the larger of the sizes
  // before conversion (uncompressed) and after it.
  const int64_t bytes = std::max(member(key).size, header.count * static_cast<int64_t>(sizeof(T)));
  if (bytes > kMaxNpzBytes - bytes_read_) {
    throw Error(ErrorKind::data, place(key), "the arrays are larger than the limit of 8 GiB");
  }
  bytes_read_ += bytes;
  return header.count;
}

template <class T>
void NpzReader::read_admitted(const std::string& key, std::span<T> out) {
  const NpyHeader& header = this->header(key);
  Stream stream(archive_.get(), member(key), place(key));
  std::vector<char> buffer(static_cast<size_t>(std::max<int64_t>(header.data_offset, 1 << 16)));
  stream.read(buffer.data(), header.data_offset);
  FortranWalk walk(header.shape);
  const int64_t item = npy_type_size(header.type);
  const int64_t block = static_cast<int64_t>(buffer.size()) / item;
  for (int64_t done = 0; done < header.count;) {
    const int64_t items = std::min(block, header.count - done);
    stream.read(buffer.data(), items * item);
    for (int64_t i = 0; i < items; ++i, ++done) {
      const int64_t target = header.fortran_order ? walk.next() : done;
      out[static_cast<size_t>(target)] =
          decode<T>(buffer.data() + i * item, header.type, header.big_endian);
    }
  }
  stream.expect_end();
}

template <class T>
std::vector<T> NpzReader::read_as(const std::string& key) {
  std::vector<T> values(static_cast<size_t>(admit<T>(key)));
  read_admitted<T>(key, values);
  return values;
}

void NpzReader::read_into(const std::string& key, std::span<float> out,
                          const BlockUser<float>& look) {
  if (admit<float>(key) != static_cast<int64_t>(out.size())) {
    throw Error(ErrorKind::internal, "read_into: not the size of the array");
  }
  read_admitted(key, out);
  look(0, out);
}

std::vector<float> NpzReader::read_floats(const std::string& key) { return read_as<float>(key); }
std::vector<double> NpzReader::read_doubles(const std::string& key) { return read_as<double>(key); }

}  // namespace rl_training
