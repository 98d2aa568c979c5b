#pragma once
#include <cstdint>
#include <string>

#include "rl_training/util/file_system.h"

namespace rl_training {

// "<algo>__<task>__seed<seed>__", the beginning of the names of run directories.
std::string run_name(const std::string& algo, const std::string& task, uint64_t seed);

// The directory of one run, held by one process at a time: an flock on its file LOCK (pid, host,
// start time) lasts as long as this object and ends with the process in any case.
class RunDirectory {
 public:
  // <output_dir>/<algo>__<env>__seed<seed>__<UTC YYYYmmdd-HHMMSS>[-n]. It appears atomically, with
  // config.yaml and already locked.
  static RunDirectory create(FileSystem& files, const std::string& output_dir,
                             const std::string& algo, const std::string& env_id, uint64_t seed,
                             const std::string& config_yaml);

  // Opens an existing run to resume it. Throws Error{io} if it is not a run directory or is locked
  // by another process.
  static RunDirectory open(FileSystem& files, const std::string& path);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&& other) noexcept;
  ~RunDirectory();

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  RunDirectory(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_;  // descriptor of LOCK, -1 after a move
};

}  // namespace rl_training
