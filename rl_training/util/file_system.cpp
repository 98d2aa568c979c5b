#include "rl_training/util/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "rl_training/util/error.h"
#include "rl_training/util/file_calls.h"

namespace rl_training {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what, int code) {
  throw Error(ErrorKind::io, {path, 0, ""}, std::string(what) + ": " + std::strerror(code));
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, const char* what) : path_(path) {
    fd_ = retry_interrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0644); });
    if (fd_ < 0) fail(path, what, errno);
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  void sync() const {
    if (retry_interrupted([&] { return ::fsync(fd_); }) != 0) fail(path_, "cannot sync", errno);
  }
  void close() {
    const int fd = fd_;
    fd_ = -1;
    if (::close(fd) != 0) fail(path_, "cannot close", errno);
  }

 private:
  std::string path_;
  int fd_;
};

class PosixFileSystem final : public FileSystem {
 public:
  std::string read_file(const std::string& path) override {
    const Descriptor file(path, O_RDONLY, "cannot open");
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) fail(path, "cannot stat", errno);
    if (S_ISDIR(info.st_mode)) fail(path, "cannot read", EISDIR);
    std::string bytes(static_cast<size_t>(std::max<off_t>(info.st_size, 0)), '\0');
    size_t done = 0;
    for (;;) {
      if (done == bytes.size()) bytes.resize(bytes.size() + 4096);
      const ssize_t count = retry_interrupted(
          [&] { return ::read(file.get(), bytes.data() + done, bytes.size() - done); });
      if (count < 0) fail(path, "cannot read", errno);
      if (count == 0) break;
      done += static_cast<size_t>(count);
    }
    bytes.resize(done);
    return bytes;
  }

  void write_file(const std::string& path, std::string_view bytes) override {
    Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, "cannot create");
    if (!write_all(file.get(), bytes, 0)) fail(path, "cannot write", errno);
    file.sync();
    file.close();
  }

  void make_directories(const std::string& path) override {
    std::error_code code;
    std::filesystem::create_directories(path, code);
    if (code) fail(path, "cannot create directory", code.value());
  }

  void link(const std::string& from, const std::string& to) override {
    if (::link(from.c_str(), to.c_str()) != 0) fail(to, "cannot link", errno);
  }
  void rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) fail(to, "cannot rename into place", errno);
  }

  void sync_directory(const std::string& path) override {
    const Descriptor directory(path, O_RDONLY | O_DIRECTORY, "cannot open directory");
    directory.sync();
  }

  void remove_all(const std::string& path) override {
    std::error_code code;
    std::filesystem::remove_all(path, code);
    if (code) fail(path, "cannot remove", code.value());
  }

  void truncate(const std::string& path, uint64_t size) override {
    const auto call = [&] { return ::truncate(path.c_str(), static_cast<off_t>(size)); };
    if (retry_interrupted(call) != 0) fail(path, "cannot truncate", errno);
  }

  std::vector<std::string> list_directory(const std::string& path) override {
    std::vector<std::string> names;
    std::error_code code;
    std::filesystem::directory_iterator entry(path, code);
    if (code == std::errc::no_such_file_or_directory) return names;
    if (code) fail(path, "cannot list", code.value());
    for (; entry != std::filesystem::directory_iterator(); entry.increment(code)) {
      names.push_back(entry->path().filename().string());
    }
    if (code) fail(path, "cannot list", code.value());  // a failed increment also ends the loop
    std::sort(names.begin(), names.end());
    return names;
  }

  bool exists(const std::string& path) override { return ::access(path.c_str(), F_OK) == 0; }

  uint64_t file_size(const std::string& path) override {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) fail(path, "cannot stat", errno);
    return static_cast<uint64_t>(info.st_size);
  }

  uint64_t free_space(const std::string& path) override {
    struct statvfs info {};
    if (::statvfs(path.c_str(), &info) != 0) fail(path, "cannot stat the file system", errno);
    return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
  }
};

}  // namespace

FileSystem& posix_file_system() {
  static PosixFileSystem files;
  return files;
}

void write_file_atomically(FileSystem& files, const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".tmp-" + std::to_string(::getpid());
  try {
    files.write_file(temporary, bytes);
    files.rename(temporary, path);
  } catch (const Error& error) {
    try {
      files.remove_all(temporary);
    } catch (const Error&) {  // only the first error is reported
    }
    throw Error(error.kind(), {path, 0, ""}, error.message());
  }
  const auto parent = std::filesystem::path(path).parent_path().string();
  files.sync_directory(parent.empty() ? "." : parent);
}

}  // namespace rl_training
