#include "cli/tensor_commands.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "build_info.h"
#include "cli/signal_thread.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

// Path of the program that contains LibTorch, in the build tree or in the installation.
fs::path tensor_program() {
  const auto own = fs::read_symlink("/proc/self/exe").parent_path();
  auto built = own / "libexec/rl_training";
  if (fs::is_regular_file(built)) return built;
  return (own / RL_TRAINING_LIBEXEC_DIR / "rl_training").lexically_normal();
}

// Replaces this program with the program that contains LibTorch. The process keeps its pid, streams
// and signals.
[[noreturn]] void become_tensor_program(const Invocation& call) {
  const auto path = tensor_program().string();
  std::vector<char*> argv = {const_cast<char*>(call.program.c_str())};
  for (const auto& argument : call.arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  call.signals->end();  // later signals stay pending for the other program
  ::execv(path.c_str(), argv.data());
  throw Error(ErrorKind::io, {path, 0, ""},
              std::string("cannot start the second executable of the program (") +
                  std::strerror(errno) + "; expected a complete installation)");
}

}  // namespace

const TensorCommands& tensor_commands(const Invocation& call) {
  if (call.tensors == nullptr) become_tensor_program(call);
  return *call.tensors;
}

}  // namespace rl_training
