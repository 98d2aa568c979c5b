#pragma once
#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

namespace rl_training {

struct ChildOptions {
  std::vector<int> cores;      // to run on; empty: those of this process
  int parent_death = SIGKILL;  // what it gets when this process ends before it
  bool own_group = false;      // a terminal's Ctrl-C does not reach it
};

// This program, started once more with other arguments. It ends with this process, and what it
// prints goes to a file.
class ChildProcess {
 public:
  ChildProcess(std::vector<std::string> arguments, std::string output_file,
               const ChildOptions& options = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  bool ended();
  void send(int signal) const;
  // The exit code, or 128 + the signal that ended it.
  int wait();
  std::string output() const;
  // The line of its error, without "error: "; "" if there is none.
  std::string error_line() const;

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;
  std::string output_file_;
};

// The program's own file, for commands that others start.
std::string program_file();

}  // namespace rl_training
