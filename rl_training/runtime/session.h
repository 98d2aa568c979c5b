#pragma once
#include "rl_training/util/file_system.h"

namespace rl_training {

// What belongs to a whole process rather than to one run. The program makes one when it starts. In
// a process of somebody else's (Python, a robot's controller) the default, a guest, changes nothing
// of its host: not the allocator, not thread settings, not signal handlers, not the environment.
// Results are the same either way.
class Session {
 public:
  enum class Process { guest, owner };
  // An owner has LibTorch keep the memory of small tensors (models/tensor_memory.h), which makes
  // updates of small networks faster.
  explicit Session(Process process = Process::guest, FileSystem& files = posix_file_system());

  // Where runs, checkpoints and logs are kept.
  FileSystem& files() const { return files_; }

 private:
  FileSystem& files_;
};

// A guest on the system's own files.
const Session& guest_session();

}  // namespace rl_training
