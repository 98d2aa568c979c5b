#include "cli/tensor_commands.h"
#include "rl_training/program.h"
#include "rl_training/runtime/session.h"

namespace rl_training {

int run_program(int argc, char** argv) {
  const Session session(Session::Process::owner);
  constexpr TensorCommands kTensors;
  return run_commands(argc, argv, &kTensors);
}

}  // namespace rl_training
