// What must be done before anything else runs in the process: before main(), and before the
// constructors of shared libraries.
#include <fcntl.h>
#include <unistd.h>

#include "cli/signal_thread.h"

namespace rl_training {
namespace {

// A program that is started without a standard stream would get its number for the next file that
// it opens, and write its messages into that file.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest number that is free is this one.
    if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != stream) ::_exit(6);
  }
}

void start_process() {
  open_standard_streams();
  block_taken_signals();  // OpenBLAS starts its threads in a constructor
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const at_start)() = start_process;

}  // namespace

void link_process_start() {}

}  // namespace rl_training
