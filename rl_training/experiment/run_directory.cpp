#include "rl_training/experiment/run_directory.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "rl_training/experiment/run_file.h"
#include "rl_training/util/error.h"
#include "rl_training/util/file_calls.h"

namespace rl_training {
namespace {

constexpr char kLockFile[] = "LOCK";
constexpr char kTemporaryRun[] = ".tmp-";
constexpr char kConfigFile[] = "config.yaml";

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::io, {path, 0, ""}, what);
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

// Makes an id such as "pointmaze/Large-v3" a single path component.
std::string path_part(std::string text) {
  for (char& c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    if (!plain) c = '-';
  }
  return text;
}

// Returns the holder's line in the lock file: "pid 17 on host, started 2025-01-02T03:04:05Z".
std::string read_holder(int lock) {
  // The holder may have acquired the lock but not yet written its line.
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::array<char, 512> text{};
    const ssize_t count = ::pread(lock, text.data(), text.size(), 0);
    if (count > 0 && text[static_cast<size_t>(count) - 1] == '\n') {
      return std::string(text.data(), static_cast<size_t>(count) - 1);
    }
    ::usleep(1000);
  }
  return "pid unknown";
}

void write_holder(int lock, const std::string& path) {
  const std::string text = fmt::format("pid {} on {}, started {:%Y-%m-%dT%H:%M:%SZ}\n", ::getpid(),
                                       host_name(), fmt::gmtime(std::time(nullptr)));
  if (retry_interrupted([&] { return ::ftruncate(lock, 0); }) != 0 || !write_all(lock, text, 0)) {
    fail(path, fmt::format("cannot write: {}", std::strerror(errno)));
  }
}

int take_lock(const std::string& path) {
  const int lock = open_run_file(path);
  try {
    if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) fail(path, fmt::format("cannot lock: {}", std::strerror(errno)));
      fail(path, fmt::format("the run is in use by another process ({})", read_holder(lock)));
    }
    write_holder(lock, path);
  } catch (const Error&) {
    ::close(lock);
    throw;
  }
  return lock;
}

bool older_than_an_hour(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         std::time(nullptr) - info.st_mtime > 3600;
}

bool is_locked(const std::string& path) {
  const int lock = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (lock < 0) return false;
  const bool locked = ::flock(lock, LOCK_EX | LOCK_NB) != 0;
  ::close(lock);
  return locked;
}

// Removes directories that a killed process did not finish creating. Keeps locked directories. Also
// keeps directories of the last hour, because another process may have created them without having
// locked them yet.
void remove_abandoned(FileSystem& files, const std::string& parent) {
  try {
    for (const auto& name : files.list_directory(parent)) {
      const auto path = parent + "/" + name;
      const bool ours = name.starts_with(kTemporaryRun) && name.find("__seed") != std::string::npos;
      if (ours && older_than_an_hour(path) && !is_locked(path + "/" + kLockFile)) {
        files.remove_all(path);
      }
    }
  } catch (const Error&) {  // ignored: a directory of another user must not prevent training
  }
}

// Removes the temporary files of a killed process. Only the holder of the lock may call this.
void remove_unfinished_files(FileSystem& files, const std::string& run) {
  for (const auto& name : files.list_directory(run)) {
    for (const char* known : {"config.yaml.tmp-", "metadata.json.tmp-"}) {
      if (name.starts_with(known)) files.remove_all(run + "/" + name);
    }
  }
}

// rename() never replaces a directory that is not empty. If two processes try the same name at the
// same time, one of them gets it and the other tries the next name.
std::string claim_name(FileSystem& files, const std::string& temporary, const std::string& wanted) {
  for (int n = 0;; ++n) {
    std::string path = n == 0 ? wanted : fmt::format("{}-{}", wanted, n);
    if (files.exists(path)) continue;
    try {
      files.rename(temporary, path);
      return path;
    } catch (const Error&) {
      if (!files.exists(path)) throw;
    }
  }
}

}  // namespace

std::string run_name(const std::string& algo, const std::string& task, uint64_t seed) {
  return fmt::format("{}__{}__seed{}__", path_part(algo), path_part(task), seed);
}

RunDirectory RunDirectory::create(FileSystem& files, const std::string& output_dir,
                                  const std::string& algo, const std::string& env_id, uint64_t seed,
                                  const std::string& config_yaml) {
  const std::string name = fmt::format("{}{:%Y%m%d-%H%M%S}", run_name(algo, env_id, seed),
                                       fmt::gmtime(std::time(nullptr)));
  const std::string parent = output_dir.empty() ? "." : output_dir;
  // The thread id prevents two threads of one process from sharing a temporary directory.
  const std::string temporary = fmt::format("{}/{}{}-{}", parent, kTemporaryRun, name, ::gettid());
  files.make_directories(parent);
  remove_abandoned(files, parent);
  RunDirectory run(temporary, -1);
  try {
    files.remove_all(temporary);
    files.make_directories(temporary);
    files.write_file(run.file(kConfigFile), config_yaml);
    run.lock_ = take_lock(run.file(kLockFile));
    files.sync_directory(temporary);
    run.path_ = claim_name(files, temporary, parent + "/" + name);
    files.sync_directory(parent);
  } catch (const Error& error) {
    try {
      files.remove_all(temporary);
    } catch (const Error&) {  // ignored: the first failure is reported
    }
    throw Error(error.kind(), {parent + "/" + name, 0, ""}, error.message());
  }
  return run;
}

RunDirectory RunDirectory::open(FileSystem& files, const std::string& path) {
  std::string plain = path;
  while (plain.size() > 1 && plain.back() == '/') plain.pop_back();
  if (!files.exists(plain + "/" + kConfigFile)) {
    fail(plain, fmt::format("not a run directory (no {} in it)", kConfigFile));
  }
  refuse_links(plain);
  RunDirectory run(plain, take_lock(plain + "/" + kLockFile));
  remove_unfinished_files(files, plain);
  return run;
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

RunDirectory& RunDirectory::operator=(RunDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

RunDirectory::~RunDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace rl_training
