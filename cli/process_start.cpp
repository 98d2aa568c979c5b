// Code that must run before main() and before the constructors of shared libraries.
#include <cxxabi.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <typeinfo>

#include "cli/signal_thread.h"

namespace rl_training {
namespace {

// Opens /dev/null for standard streams that are closed when the program starts. Otherwise, the next
// file that the program opens would get the descriptor of a standard stream, and messages would be
// written to that file.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open() returns the lowest free descriptor. This is `stream`, because all lower ones are open.
    if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != stream) ::_exit(6);
  }
}

// LibTorch's constructors allocate memory. If memory runs out, they throw before main() can catch
// the exception, so a terminate handler prints the error.
std::terminate_handler usual_end = nullptr;

[[noreturn]] void end_without_memory() {
  const auto* type = abi::__cxa_current_exception_type();
  if (type != nullptr && *type == typeid(std::bad_alloc)) {
    constexpr std::string_view kMessage = "error: out of memory\n";
    static_cast<void>(!::write(STDERR_FILENO, kMessage.data(), kMessage.size()));
    ::_exit(6);
  }
  usual_end();
  std::abort();
}

void start_process() {
  open_standard_streams();
  usual_end = std::set_terminate(end_without_memory);
  block_taken_signals();  // block now, because OpenBLAS starts its threads in a constructor
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const kAtStart)() = start_process;

}  // namespace

void link_process_start() {}

}  // namespace rl_training
