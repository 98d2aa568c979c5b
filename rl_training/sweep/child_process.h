#pragma once
#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

namespace rl_training {

struct ChildOptions {
  std::vector<int> cores;      // cores to run on; empty: the cores of this process
  int parent_death = SIGKILL;  // signal that the child receives if this process ends first
  // If true, the child gets its own process group, so that it does not receive the terminal's
  // Ctrl-C.
  bool own_group = false;
};

// A child process that runs this program with other arguments. If this process ends first, the
// child receives a signal. The child's output goes to a file.
class ChildProcess {
 public:
  ChildProcess(std::vector<std::string> arguments, std::string output_file,
               const ChildOptions& options = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  bool ended();
  void send(int signal) const;
  // Returns the exit code, or 128 + signal.
  int wait();
  std::string output() const;
  // The child's error line without "error: "; "" if there is none.
  std::string error_line() const;

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;
  std::string output_file_;
};

// Path of this program, for commands that other programs start.
std::string program_file();

}  // namespace rl_training
