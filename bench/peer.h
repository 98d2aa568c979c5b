#pragma once
#include <memory>
#include <string>

#include "bench/contenders.h"

namespace rl_training {

// Another implementation of the same update, in a separate process.
class Peer : public Contender {
 public:
  // Waits until the peer is ready and returns its title, for example "PyTorch 1.13.0a0, eager".
  // Returns "" if this thread setting has the same effect on the peer as another setting and need
  // not be measured. Throws Error{io} if the peer has failed.
  virtual const std::string& wait_for_title() = 0;
};

struct ThreadSetting {
  int own = 1, blas = 1;  // threads of the framework and of OpenBLAS
};

// Throws Error{config} if the command is empty, and Error{io} if its files cannot be read. A
// command is a script (bench/eager.py), or an interpreter, a script and its arguments.
void check_peer(const std::string& command);

// Starts the peer without waiting for it. Throws Error{io} if it cannot be started.
std::unique_ptr<Peer> start_peer(const BenchWork& work, const std::string& command,
                                 const ThreadSetting& threads);

}  // namespace rl_training
