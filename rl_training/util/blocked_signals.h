#pragma once
#include <csignal>

namespace rl_training {

// Blocks asynchronous signals in the calling thread while an object exists, and in threads started
// meanwhile: the kernel delivers them to another thread of the process, or they wait. Faults of the
// thread itself (such as SIGSEGV) and handlers are not affected.
//
// A thread that computes must not run a signal handler on its own stack: generated code of oneDNN
// keeps data where the kernel would write the handler's frame (docs/reliability.md).
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
