#pragma once
#include <csignal>

namespace rl_training {

// Keeps asynchronous signals away from the calling thread while it lives, and from threads that it
// starts meanwhile: the kernel gives them to another thread of the process, or they wait. Faults of
// the thread itself (SIGSEGV and the like) stay as they are, and handlers are not touched.
//
// A thread that computes must not run a signal handler on its own stack: generated code of oneDNN
// keeps data where the kernel would put the handler's frame (docs/reliability.md).
class BlockedSignals {
 public:
  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  // The mask of the thread before.
  const sigset_t& previous() const { return previous_; }

 private:
  sigset_t previous_{};
};

}  // namespace rl_training
