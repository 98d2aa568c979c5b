#include "rl_training/data/npz_writer.h"

#include <zip.h>

#include <array>
#include <memory>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr zip_uint16_t kDate1980 = (1 << 5) | 1;  // 1 January 1980, the date that NumPy writes

[[noreturn]] void fail(const char* what) {
  throw Error(ErrorKind::io, std::string("cannot make an npz file: ") + what);
}

}  // namespace

void NpzWriter::add(const std::string& key, std::span<const int64_t> shape,
                    std::span<const float> values) {
  add_raw(key, NpyType::f4, shape, values.data(), values.size_bytes());
}

void NpzWriter::add(const std::string& key, std::span<const int64_t> shape,
                    std::span<const double> values) {
  add_raw(key, NpyType::f8, shape, values.data(), values.size_bytes());
}

void NpzWriter::add(const std::string& key, std::span<const int64_t> shape,
                    std::span<const int64_t> values) {
  add_raw(key, NpyType::i8, shape, values.data(), values.size_bytes());
}

void NpzWriter::add_flags(const std::string& key, std::span<const uint8_t> values) {
  const std::array<int64_t, 1> shape = {static_cast<int64_t>(values.size())};
  add_raw(key, NpyType::b1, shape, values.data(), values.size_bytes());
}

void NpzWriter::add_text(const std::string& key, std::string_view text) {
  const std::array<int64_t, 1> shape = {static_cast<int64_t>(text.size())};
  add_raw(key, NpyType::u1, shape, text.data(), text.size());
}

void NpzWriter::add_raw(const std::string& key, NpyType type, std::span<const int64_t> shape,
                        const void* data, size_t size) {
  std::string content = make_npy_header(type, shape);
  content.append(static_cast<const char*>(data), size);
  members_.emplace_back(key + ".npy", std::move(content));
}

std::string NpzWriter::bytes() const {
  zip_source_t* target = zip_source_buffer_create(nullptr, 0, 0, nullptr);
  if (!target) fail("out of memory");
  zip_source_keep(target);  // the bytes are read after the archive has released the source
  const std::unique_ptr<zip_source_t, void (*)(zip_source_t*)> holder(target, zip_source_free);
  zip_t* archive = zip_open_from_source(target, ZIP_TRUNCATE, nullptr);
  if (!archive) fail("libzip refuses");
  std::unique_ptr<zip_t, void (*)(zip_t*)> guard(archive, zip_discard);
  for (const auto& [name, content] : members_) {
    zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
    const int64_t index = source ? zip_file_add(archive, name.c_str(), source, 0) : -1;
    if (index < 0) {
      zip_source_free(source);
      fail(zip_strerror(archive));
    }
    const auto entry = static_cast<zip_uint64_t>(index);
    if (zip_set_file_compression(archive, entry, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive, entry, 0, kDate1980, 0) != 0) {
      fail(zip_strerror(archive));
    }
  }
  if (zip_close(archive) != 0) fail(zip_strerror(archive));
  static_cast<void>(guard.release());  // zip_close has freed the archive

  zip_stat_t info;
  if (zip_source_stat(target, &info) != 0 || zip_source_open(target) != 0) fail("lost the bytes");
  std::string result(info.size, '\0');
  const int64_t count = zip_source_read(target, result.data(), result.size());
  zip_source_close(target);
  if (count != static_cast<int64_t>(result.size())) fail("lost some bytes");
  return result;
}

}  // namespace rl_training
