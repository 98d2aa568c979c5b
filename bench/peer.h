#pragma once
#include <memory>
#include <string>

#include "bench/contenders.h"

namespace rl_training {

// Another implementation of the same update, in a separate process.
class Peer : public Contender {
 public:
  virtual const std::string& title() const = 0;  // "PyTorch 1.13.0a0, eager"
};

struct ThreadSetting {
  int own = 1, blas = 1;  // of the framework, and of OpenBLAS below it
};

// A command is a script (bench/eager.py), or an interpreter, a script and its arguments. Throws
// Error{config, io} if there is none or its files cannot be read.
void check_peer(const std::string& command);

// Null if this setting is the same as another one for the peer. Throws Error{io} when it does not
// start.
std::unique_ptr<Peer> start_peer(const BenchWork& work, const std::string& command,
                                 const ThreadSetting& threads);

}  // namespace rl_training
