#include "rl_training/experiment/run_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "rl_training/util/error.h"
#include "rl_training/util/file_calls.h"

namespace rl_training {
namespace {

[[noreturn]] void refuse(const std::string& path, const char* found) {
  throw Error(ErrorKind::checkpoint, {path, 0, ""},
              std::string("not a file of this run (expected a regular file, got ") + found + ")");
}

// Returns whether the path exists and throws if its type is not allowed. The check comes before
// opening, because opening a device can have side effects.
bool check_kind(const std::string& path, bool directory_allowed) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return false;
  if (S_ISLNK(info.st_mode)) refuse(path, "a symbolic link");
  if (S_ISREG(info.st_mode) || (directory_allowed && S_ISDIR(info.st_mode))) return true;
  refuse(path, S_ISDIR(info.st_mode) ? "a directory" : "a pipe or device");
}

}  // namespace

int open_run_file(const std::string& path) {
  check_kind(path, /*directory_allowed=*/false);
  const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC;
  const int file = retry_interrupted([&] { return ::open(path.c_str(), flags, 0644); });
  if (file >= 0) return file;
  if (errno == ELOOP) refuse(path, "a symbolic link");
  throw Error(ErrorKind::io, {path, 0, ""}, std::string("cannot open: ") + std::strerror(errno));
}

void refuse_links(const std::string& run_directory) {
  for (const char* name : {"config.yaml", "metadata.json", "LOCK", "metrics.jsonl", "metrics.csv",
                           "timing.jsonl", "tensorboard", "checkpoints"}) {
    check_kind(run_directory + "/" + name, /*directory_allowed=*/true);
  }
}

}  // namespace rl_training
