#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "rl_training/util/json.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {

struct ProgramResult {
  int exit_code = -1;  // 128 + signal if a signal ended the program
  std::string out, err;

  // Parses stdout, which must be one JSON object.
  Json json() const;
  // True if stderr is one line that starts with "error: ".
  bool one_error_line() const;
};

// A process of the command-line program. Its output goes to files, so the process never blocks on a
// full pipe.
class Program {
 public:
  struct Input {
    std::string stdin_file = "/dev/null";
    int stdin_descriptor = -1;     // if >= 0, used instead of stdin_file
    std::string stderr_file = "";  // may be a terminal; if empty, a temporary file
    std::string stdout_file = "";  // as stderr_file
    std::string working_directory = "";
    std::string program = "";  // if set, used instead of the command-line program
  };

  explicit Program(std::vector<std::string> arguments);
  Program(std::vector<std::string> arguments, const Input& input);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  std::string output_so_far() const;
  bool ended();
  ProgramResult wait();

 private:
  TemporaryDirectory directory_;
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

ProgramResult run(const std::vector<std::string>& arguments);
ProgramResult run(const std::vector<std::string>& arguments, const Program::Input& input);

// Polls `condition` until it is true. Returns false after twenty minutes, which is long enough even
// with sanitizers.
bool becomes_true(const std::function<bool()>& condition);

}  // namespace rl_training
