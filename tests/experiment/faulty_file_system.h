#pragma once
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"

namespace rl_training {

constexpr int kKill = -1;  // used instead of an errno: the process ends at this call
constexpr int kKilledExit = 9;

// The real file system, except that call number `fault_at`, counted from 1, fails with `fault`. A
// failing write leaves half of the bytes behind, as on a full disk.
class FaultyFileSystem final : public FileSystem {
 public:
  FaultyFileSystem() = default;
  FaultyFileSystem(int fault_at, int fault) : fault_at_(fault_at), fault_(fault) {}

  uint64_t free_bytes = UINT64_MAX;  // upper limit on the result of free_space()

  int calls() const { return calls_; }
  bool failed() const { return failed_; }
  // The modifying calls in order, such as "rename step-000000001".
  const std::vector<std::string>& changes() const { return changes_; }

  std::string read_file(const std::string& path) override {
    call("read", path, false);
    return real_.read_file(path);
  }
  void write_file(const std::string& path, std::string_view bytes) override {
    if (calls_ + 1 == fault_at_) real_.write_file(path, bytes.substr(0, bytes.size() / 2));
    call("write", path, true);
    real_.write_file(path, bytes);
  }
  void make_directories(const std::string& path) override {
    call("mkdir", path, true);
    real_.make_directories(path);
  }
  void rename(const std::string& from, const std::string& to) override {
    call("rename", to, true);
    real_.rename(from, to);
  }
  void link(const std::string& from, const std::string& to) override {
    call("link", to, true);
    real_.link(from, to);
  }
  void sync_directory(const std::string& path) override {
    call("sync", path, true);
    real_.sync_directory(path);
  }
  void remove_all(const std::string& path) override {
    call("remove", path, real_.exists(path));
    real_.remove_all(path);
  }
  void truncate(const std::string& path, uint64_t size) override {
    call("truncate", path, true);
    real_.truncate(path, size);
  }
  std::vector<std::string> list_directory(const std::string& path) override {
    call("list", path, false);
    return real_.list_directory(path);
  }
  bool exists(const std::string& path) override {
    if (fault_ == kKill) call("exists", path, false);  // cannot fail, but the process can end here
    return real_.exists(path);
  }
  uint64_t file_size(const std::string& path) override {
    call("size", path, false);
    return real_.file_size(path);
  }
  uint64_t free_space(const std::string& path) override {
    call("space", path, false);
    return std::min(free_bytes, real_.free_space(path));
  }

 private:
  void call(const std::string& what, const std::string& path, bool change) {
    if (++calls_ == fault_at_) {
      if (fault_ == kKill) ::_exit(kKilledExit);
      failed_ = true;
      throw Error(ErrorKind::io, {path, 0, ""}, "cannot " + what + ": " + std::strerror(fault_));
    }
    if (change) changes_.push_back(what + " " + std::filesystem::path(path).filename().string());
  }

  FileSystem& real_ = posix_file_system();
  int fault_at_ = 0;
  int fault_ = 0;
  int calls_ = 0;
  bool failed_ = false;
  std::vector<std::string> changes_;
};

}  // namespace rl_training
