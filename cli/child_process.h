#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace rl_training {

// This program, started once more with other arguments. It ends with this process, and what it
// prints goes to a file.
class ChildProcess {
 public:
  ChildProcess(std::vector<std::string> arguments, std::string output_file);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  bool ended();
  void kill();
  // The exit code, or 128 + the signal that ended it.
  int wait();
  // The line of its error, without "error: "; "" where there is none.
  std::string error_line() const;

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;
  std::string output_file_;
};

}  // namespace rl_training
