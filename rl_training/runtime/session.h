#pragma once
#include "rl_training/util/file_system.h"

namespace rl_training {

// Settings of the whole process. The rl_training program creates a session when it starts. In a
// host process, such as Python or a robot controller, use a guest session, which is the default. A
// guest does not change the allocator, thread settings, signal handlers or environment variables of
// its host. Results do not depend on the kind of session.
class Session {
 public:
  enum class Process { guest, owner };
  // With Process::owner, LibTorch reuses the memory of small tensors (models/tensor_memory.h),
  // which makes updates of small networks faster.
  explicit Session(Process process = Process::guest, FileSystem& files = posix_file_system());

  // File system for runs, checkpoints and logs.
  FileSystem& files() const { return files_; }

 private:
  FileSystem& files_;
};

// A guest session that uses the operating system's file system.
const Session& guest_session();

}  // namespace rl_training
