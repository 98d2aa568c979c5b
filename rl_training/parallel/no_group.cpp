// Replaces gloo_group.cpp if Gloo is not installed.
#include "rl_training/parallel/join.h"
#include "rl_training/util/error.h"

namespace rl_training {

std::unique_ptr<ProcessGroup> join_processes(const ProcessPlace& place,
                                             std::unique_ptr<RendezvousServer>) {
  if (place.size == 1) return nullptr;
  throw Error(ErrorKind::config, {"", 0, "--processes"},
              "this build was made without Gloo (Debian: libgloo-dev)");
}

bool processes_available() { return false; }

}  // namespace rl_training
