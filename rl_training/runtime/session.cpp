#include "rl_training/runtime/session.h"

#include "rl_training/models/tensor_memory.h"

namespace rl_training {

Session::Session(Process process, FileSystem& files) : files_(files) {
  if (process == Process::owner) keep_tensor_memory();
}

const Session& guest_session() {
  static const Session session;
  return session;
}

}  // namespace rl_training
