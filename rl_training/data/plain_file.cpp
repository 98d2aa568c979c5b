#include "rl_training/data/plain_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <type_traits>

#include "rl_training/util/file_calls.h"

namespace rl_training {
namespace {

// A block of this size stays in the private cache of a core while its values are checked.
constexpr int64_t kBlockBytes = int64_t{512} << 10;

int64_t item_bytes(PlainArray::Item item) {
  switch (item) {
    case PlainArray::Item::int8:
    case PlainArray::Item::uint8:
      return 1;
    case PlainArray::Item::float32:
      return 4;
    case PlainArray::Item::float64:
      return 8;
  }
  return 0;
}

// Returns device, inode, size and modification time, which identify a file and its content.
Json marks_of(const struct stat& info) {
  return {static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino),
          static_cast<int64_t>(info.st_size), static_cast<int64_t>(info.st_mtim.tv_sec),
          static_cast<int64_t>(info.st_mtim.tv_nsec)};
}

int64_t row_count(const PlainArray& array) { return array.shape.empty() ? 1 : array.shape[0]; }

int64_t row_width(const PlainArray& array) {
  int64_t width = 1;
  for (size_t i = 1; i < array.shape.size(); ++i) width *= array.shape[i];
  return width;
}

bool lies_inside(const PlainArray& array, int64_t file_size) {
  int64_t bytes = item_bytes(array.item);
  for (const int64_t dim : array.shape) {
    if (dim < 1 || __builtin_mul_overflow(bytes, dim, &bytes)) return false;
  }
  return array.offset >= 0 && bytes <= file_size && array.offset <= file_size - bytes;
}

template <class From, class To>
void convert(const unsigned char* from, std::span<To> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof value, sizeof value);
    out[i] = static_cast<To>(value);
  }
}

template <class T>
constexpr PlainArray::Item kItemOf =
    std::is_same_v<T, float> ? PlainArray::Item::float32 : PlainArray::Item::float64;

}  // namespace

Json PlainFile::marks(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    throw Error(ErrorKind::data, {path, 0, ""},
                std::string("cannot open: ") + std::strerror(errno));
  }
  return marks_of(info);
}

Json PlainFile::describe(const Json& marks, const PlainArrays& arrays) {
  Json described = Json::object();
  for (const auto& [key, array] : arrays) {
    described[key] = {static_cast<int>(array.item), array.shape, array.offset};
  }
  return {{"file", marks}, {"arrays", described}};
}

PlainFile::PlainFile(const std::string& path, const Json& description, ArrayMemory& memory)
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), memory_(memory) {
  struct stat info {};
  if (file_.get() < 0 || ::fstat(file_.get(), &info) != 0) {
    throw Error(ErrorKind::data, place(""), std::string("cannot open: ") + std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode) || description.at("file") != marks_of(info)) {
    throw Error(ErrorKind::data, place(""), "changed while it was read");
  }
  for (const auto& [key, array] : description.at("arrays").items()) {
    const auto item = array.at(0).get<int>();
    if (item < 0 || item > static_cast<int>(PlainArray::Item::float64)) {
      throw Error(ErrorKind::data, place(key), "unknown type of numbers");
    }
    PlainArray found{static_cast<PlainArray::Item>(item), array.at(1).get<std::vector<int64_t>>(),
                     array.at(2).get<int64_t>()};
    if (!lies_inside(found, info.st_size)) {
      throw Error(ErrorKind::data, place(key), "extends beyond the file");
    }
    arrays_.emplace(key, std::move(found));
  }
}

// Uses pread instead of a mapping, because access to a mapping would kill this process if another
// program truncated the file.
void PlainFile::read_bytes(const std::string& key, int64_t offset, void* out, int64_t bytes) {
  char* next = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t count = retry_interrupted(
        [&] { return ::pread(file_.get(), next, static_cast<size_t>(bytes), offset); });
    if (count < 0) {
      throw Error(ErrorKind::data, place(key),
                  std::string("cannot read the array: ") + std::strerror(errno));
    }
    if (count == 0) throw Error(ErrorKind::data, place(key), "the file ends before the array");
    next += count;
    offset += count;
    bytes -= count;
  }
}

// Reads out.size() elements, starting at row `first`, and converts them to T.
template <class T>
void PlainFile::read_part(const std::string& key, int64_t first, std::span<T> out) {
  const auto& array = arrays_.at(key);
  const int64_t item = item_bytes(array.item);
  const int64_t offset = array.offset + first * row_width(array) * item;
  const int64_t bytes = static_cast<int64_t>(out.size()) * item;
  if (array.item == kItemOf<T>) return read_bytes(key, offset, out.data(), bytes);
  std::vector<unsigned char> raw(static_cast<size_t>(bytes));
  read_bytes(key, offset, raw.data(), bytes);
  switch (array.item) {
    case PlainArray::Item::int8:
      return convert<int8_t>(raw.data(), out);
    case PlainArray::Item::uint8:
      return convert<uint8_t>(raw.data(), out);
    case PlainArray::Item::float32:
      return convert<float>(raw.data(), out);
    case PlainArray::Item::float64:
      return convert<double>(raw.data(), out);
  }
}

template <class Body>
void PlainFile::for_blocks(const std::string& key, const Body& body) {
  const auto& array = arrays_.at(key);
  const int64_t rows = row_count(array);
  const int64_t step = std::max<int64_t>(kBlockBytes / (8 * row_width(array)), 1);
  const int64_t blocks = (rows + step - 1) / step;
  if (blocks > 1 && !pool_) pool_ = std::make_unique<ThreadPool>(std::min(available_cores(), 4));
  std::vector<std::exception_ptr> errors(static_cast<size_t>(blocks));
  const auto work = [&](int64_t block) {
    try {
      body(block * step, std::min(step, rows - block * step));
    } catch (...) {
      errors[static_cast<size_t>(block)] = std::current_exception();
    }
  };
  if (blocks == 1) work(0);
  if (blocks > 1) pool_->run(blocks, work);
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

template <class T>
std::vector<T> PlainFile::read_all(const std::string& key) {
  const auto& array = arrays_.at(key);
  std::vector<T> values(static_cast<size_t>(row_count(array) * row_width(array)));
  read_part(key, 0, std::span<T>(values));
  return values;
}

template <class T>
void PlainFile::read_all_blocks(const std::string& key, const BlockUser<T>& use) {
  const int64_t width = row_width(arrays_.at(key));
  for_blocks(key, [&](int64_t first, int64_t rows) {
    thread_local std::vector<T> scratch;
    const auto count = static_cast<size_t>(rows * width);
    if (scratch.size() < count) scratch.resize(count);
    const auto block = std::span<T>(scratch).first(count);
    read_part(key, first, block);
    use(first, block);
  });
}

std::vector<float> PlainFile::read_floats(const std::string& key) { return read_all<float>(key); }

std::vector<double> PlainFile::read_doubles(const std::string& key) {
  return read_all<double>(key);
}

void PlainFile::read_into(const std::string& key, std::span<float> out,
                          const BlockUser<float>& look) {
  const auto& array = arrays_.at(key);
  const int64_t width = row_width(array);
  if (static_cast<int64_t>(out.size()) != row_count(array) * width) {
    throw Error(ErrorKind::internal, "read_into: not the size of the array");
  }
  read_all_blocks<float>(key, [&](int64_t first, std::span<const float> block) {
    look(first, block);
    memory_.store(out.data() + first * width, block.data(),
                  static_cast<int64_t>(block.size_bytes()));
  });
}

void PlainFile::read_blocks(const std::string& key, const BlockUser<float>& use) {
  read_all_blocks(key, use);
}

void PlainFile::read_blocks(const std::string& key, const BlockUser<double>& use) {
  read_all_blocks(key, use);
}

}  // namespace rl_training
