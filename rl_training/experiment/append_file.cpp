#include "rl_training/experiment/append_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "rl_training/experiment/run_file.h"
#include "rl_training/util/error.h"
#include "rl_training/util/file_calls.h"
#include "rl_training/util/file_system.h"

namespace rl_training {

AppendFile::~AppendFile() {
  if (fd_ >= 0) ::close(fd_);
}

void AppendFile::fail(const char* what, int code) const {
  throw Error(ErrorKind::io, {path_, 0, ""}, fmt::format("{}: {}", what, std::strerror(code)));
}

void AppendFile::open() {
  if (fd_ >= 0) return;
  fd_ = open_run_file(path_);
  // Syncs the directory, because a power cut could otherwise lose the file's directory entry and
  // thus a file that checkpoints depend on.
  const auto parent = std::filesystem::path(path_).parent_path().string();
  posix_file_system().sync_directory(parent.empty() ? "." : parent);
}

uint64_t AppendFile::size() {
  open();
  struct stat info {};
  if (::fstat(fd_, &info) != 0) fail("cannot stat", errno);
  return static_cast<uint64_t>(info.st_size);
}

void AppendFile::cut(uint64_t wanted) {
  const uint64_t found = size();
  if (found < wanted) {
    throw Error(ErrorKind::io, {path_, 0, ""},
                fmt::format("shorter than when the checkpoint was written (expected {} bytes, "
                            "got {})",
                            wanted, found));
  }
  const auto call = [&] { return ::ftruncate(fd_, static_cast<off_t>(wanted)); };
  if (found > wanted && retry_interrupted(call) != 0) fail("cannot truncate", errno);
}

void AppendFile::append(uint64_t offset, std::string_view record) {
  cut(offset);
  if (write_all(fd_, record, offset)) return;
  const int code = errno;
  // A failure to truncate is ignored, because the write error is reported instead.
  if (::ftruncate(fd_, static_cast<off_t>(offset)) != 0) {
  }
  fail("cannot write", code);
}

void AppendFile::sync() {
  if (fd_ < 0) return;
  if (retry_interrupted([&] { return ::fdatasync(fd_); }) != 0) fail("cannot sync", errno);
}

}  // namespace rl_training
