#pragma once
#include <memory>
#include <string>

#include "bench/contenders.h"

namespace rl_training {

// Another implementation of the same update, in a separate process.
class Peer : public Contender {
 public:
  // "PyTorch 1.13.0a0, eager" once it is ready, or "" if this setting equals another one for
  // this peer. Throws Error{io} if the peer has failed.
  virtual const std::string& wait_for_title() = 0;
};

struct ThreadSetting {
  int own = 1, blas = 1;  // of the framework, and of OpenBLAS below it
};

// A command is a script (bench/eager.py), or an interpreter, a script and its arguments. Throws
// Error{config, io} if the command is empty or its files cannot be read.
void check_peer(const std::string& command);

// Starts the peer without waiting for it. Throws Error{io} if it cannot be started.
std::unique_ptr<Peer> start_peer(const BenchWork& work, const std::string& command,
                                 const ThreadSetting& threads);

}  // namespace rl_training
