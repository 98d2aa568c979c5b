#include "rl_training/data/sandbox_channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>

#include "rl_training/util/file_calls.h"

namespace rl_training {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kPage = 4096;
constexpr uint64_t kMagic = 0x726c5f7472616e73;

int64_t rounded_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

// The last bytes of the output. The message of finish() or fail() precedes the trailer.
struct Trailer {
  uint64_t message_bytes = 0, magic = 0;
};

// Serialises a sequence of numbers and texts.
class MessageWriter {
 public:
  void number(int64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), 8); }
  void text(const std::string& value) {
    number(static_cast<int64_t>(value.size()));
    bytes_ += value;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class MessageReader {
 public:
  explicit MessageReader(std::string bytes) : bytes_(std::move(bytes)) {}
  int64_t number() {
    int64_t value = 0;
    require(sizeof value);
    std::memcpy(&value, bytes_.data() + used_, sizeof value);
    used_ += sizeof value;
    return value;
  }
  std::string text() {
    const int64_t size = number();
    if (size < 0) require(bytes_.size() + 1);
    require(static_cast<size_t>(size));
    used_ += static_cast<size_t>(size);
    return bytes_.substr(used_ - static_cast<size_t>(size), static_cast<size_t>(size));
  }

 private:
  void require(size_t size) const {
    if (size > bytes_.size() - used_) throw Error(ErrorKind::internal, "broken sandbox message");
  }
  std::string bytes_;
  size_t used_ = 0;
};

[[noreturn]] void out_of_space(int code) {
  if (code == ENOSPC || code == EDQUOT || code == EIO) {
    throw Error(ErrorKind::io, std::string("cannot write: ") + std::strerror(code));
  }
  throw std::bad_alloc();
}

}  // namespace

SandboxSender::~SandboxSender() {
  for (const auto& region : regions_) ::munmap(region.start, static_cast<size_t>(region.bytes));
}

std::shared_ptr<void> SandboxSender::allocate(int64_t bytes) {
  const int64_t size = rounded_up(std::max<int64_t>(bytes, 1), kPage);
  position_ = rounded_up(position_, kPage);
  // Allocates the disk space now, because a full disk would cause SIGBUS later.
  if (const int code = ::posix_fallocate(descriptor_, position_, size); code != 0) {
    out_of_space(code);
  }
  void* start = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED,
                       descriptor_, position_);
  if (start == MAP_FAILED) throw std::bad_alloc();
  regions_.push_back({static_cast<char*>(start), position_, size});
  position_ += size;
  return {start, [](void*) {}};
}

// Writes to the file instead of the mapping. A write through the mapping would first fill each page
// with zeros.
void SandboxSender::store(void* target, const void* data, int64_t bytes) {
  const char* first = static_cast<const char*>(target);
  for (const auto& region : regions_) {
    if (first >= region.start && first + bytes <= region.start + region.bytes) {
      return write(data, bytes, region.offset + (first - region.start));
    }
  }
  SandboxOutput::store(target, data, bytes);
}

void SandboxSender::array(const void* data, int64_t bytes) {
  const char* first = static_cast<const char*>(data);
  for (const auto& region : regions_) {
    if (first == region.start && bytes <= region.bytes) {
      arrays_.emplace_back(region.offset, bytes);
      return;
    }
  }
  arrays_.emplace_back(position_, bytes);
  append(data, bytes);
  position_ = rounded_up(position_, kAlignment);
}

void SandboxSender::finish() {
  MessageWriter message;
  message.number(0);
  message.text(text_);
  message.number(static_cast<int64_t>(arrays_.size()));
  for (const auto& [offset, bytes] : arrays_) {
    message.number(offset);
    message.number(bytes);
  }
  close(message.bytes());
}

void SandboxSender::fail(const Error& error) {
  MessageWriter message;
  message.number(static_cast<int64_t>(error.kind()));
  message.text(error.place().file);
  message.number(error.place().line);
  message.text(error.place().key);
  message.text(error.message());
  position_ = 0;
  if (::ftruncate(descriptor_, 0) != 0) out_of_space(errno);
  close(message.bytes());
}

void SandboxSender::close(const std::string& message) {
  append(message.data(), static_cast<int64_t>(message.size()));
  const Trailer trailer{message.size(), kMagic};
  append(&trailer, sizeof trailer);
  // The parent reads the trailer at the end of the file, so the file must end here.
  if (::ftruncate(descriptor_, position_) != 0) out_of_space(errno);
}

void SandboxSender::append(const void* data, int64_t bytes) {
  write(data, bytes, position_);
  position_ += bytes;
}

void SandboxSender::write(const void* data, int64_t bytes, int64_t offset) const {
  const std::string_view view(static_cast<const char*>(data), static_cast<size_t>(bytes));
  if (!write_all(descriptor_, view, static_cast<uint64_t>(offset))) out_of_space(errno);
}

Column<unsigned char> map_file(int descriptor, int64_t size) {
  if (size == 0) return {};
  void* memory = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorKind::io, std::string("cannot map the data: ") + std::strerror(errno));
  }
  const std::shared_ptr<const void> owner(memory, [size](const void* start) {
    ::munmap(const_cast<void*>(start), static_cast<size_t>(size));
  });
  return {owner, static_cast<const unsigned char*>(memory), size};
}

SandboxResult receive_from_sandbox(int descriptor) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) throw Error(ErrorKind::internal, "lost the reader's output");
  const int64_t size = info.st_size;
  const auto read_at = [&](int64_t offset, void* out, size_t bytes) {
    if (::pread(descriptor, out, bytes, offset) != static_cast<ssize_t>(bytes)) {
      throw Error(ErrorKind::internal, "broken sandbox message");
    }
  };
  Trailer trailer;
  read_at(size - static_cast<int64_t>(sizeof trailer), &trailer, sizeof trailer);
  const int64_t data_end = size - static_cast<int64_t>(sizeof trailer + trailer.message_bytes);
  if (trailer.magic != kMagic || trailer.message_bytes > kMaxSandboxMessage || data_end < 0) {
    throw Error(ErrorKind::internal, "broken sandbox message");
  }
  std::string bytes(trailer.message_bytes, '\0');
  read_at(data_end, bytes.data(), bytes.size());
  MessageReader message(std::move(bytes));

  if (const int64_t kind = message.number(); kind != 0) {
    ErrorPlace place;
    place.file = message.text();
    place.line = static_cast<int>(message.number());
    place.key = message.text();
    throw Error(static_cast<ErrorKind>(kind), place, message.text());
  }
  SandboxResult result;
  result.text = message.text();
  const int64_t count = message.number();
  if (count == 0) return result;
  const auto all = map_file(descriptor, size);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t offset = message.number(), length = message.number();
    if (offset < 0 || length < 0 || offset % kAlignment != 0 || offset > data_end ||
        length > data_end - offset) {
      throw Error(ErrorKind::internal, "broken sandbox message");
    }
    result.offsets.push_back(offset);
    result.arrays.push_back(all.part(offset, length));
  }
  return result;
}

}  // namespace rl_training
