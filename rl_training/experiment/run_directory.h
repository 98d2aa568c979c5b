#pragma once
#include <cstdint>
#include <string>

#include "rl_training/util/file_system.h"

namespace rl_training {

// "<algo>__<task>__seed<seed>__": the prefix of the names of run directories.
std::string run_name(const std::string& algo, const std::string& task, uint64_t seed);

// The directory of one run, locked by one process at a time. The lock is an flock on the file LOCK,
// which contains the pid and host of the process and the time at which the process took the lock.
// The lock is released when this object is destroyed or when the process ends for any reason.
class RunDirectory {
 public:
  // Creates <output_dir>/<algo>__<env>__seed<seed>__<UTC YYYYmmdd-HHMMSS>[-n]. When the directory
  // appears under this name, it already contains config.yaml and is locked.
  static RunDirectory create(FileSystem& files, const std::string& output_dir,
                             const std::string& algo, const std::string& env_id, uint64_t seed,
                             const std::string& config_yaml);

  // Opens an existing run to resume it. Throws Error{io} if `path` is not a run directory or if
  // another process has locked it.
  static RunDirectory open(FileSystem& files, const std::string& path);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&& other) noexcept;
  ~RunDirectory();

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  RunDirectory(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_;  // descriptor of LOCK; -1 after a move
};

}  // namespace rl_training
