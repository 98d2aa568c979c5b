#pragma once
#include <memory>
#include <string>

#include "bench/contenders.h"

namespace rl_training {

// Another implementation of the same update, in a separate process.
class Peer : public Contender {
 public:
  // "PyTorch 1.13.0a0, eager" once it is ready, or "" if its threads are the same as with another
  // setting. Throws Error{io} when it has failed.
  virtual const std::string& wait_for_title() = 0;
};

struct ThreadSetting {
  int own = 1, blas = 1;  // of the framework, and of OpenBLAS below it
};

// A command is a script (bench/eager.py), or an interpreter, a script and its arguments. Throws
// Error{config, io} if there is none or its files cannot be read.
void check_peer(const std::string& command);

// Starts it and does not wait. Throws Error{io} when that is impossible.
std::unique_ptr<Peer> start_peer(const BenchWork& work, const std::string& command,
                                 const ThreadSetting& threads);

}  // namespace rl_training
