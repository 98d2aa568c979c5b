#include "cli/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>

#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"

namespace rl_training {
namespace {

// Only what is safe between fork and exec of a process with threads.
[[noreturn]] void become(char* const* argv, int output) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int null = ::open("/dev/null", O_RDONLY);
  if (::dup2(null, 0) < 0 || ::dup2(output, 1) < 0 || ::dup2(output, 2) < 0) ::_exit(1);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv("/proc/self/exe", argv);
  ::_exit(1);
}

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> arguments, std::string output_file)
    : output_file_(std::move(output_file)) {
  const int output =
      ::open(output_file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (output < 0) throw Error(ErrorKind::io, {output_file_, 0, ""}, std::strerror(errno));
  arguments.insert(arguments.begin(), "rl_training");
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) become(argv.data(), output);
  const int code = errno;
  ::close(output);
  if (pid_ < 0) {
    throw Error(ErrorKind::io, std::string("cannot start a process: ") + std::strerror(code));
  }
}

ChildProcess::~ChildProcess() {
  if (ended()) return;
  kill();
  wait();
}

bool ChildProcess::ended() {
  if (!ended_) ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
  return ended_;
}

void ChildProcess::kill() { ::kill(pid_, SIGKILL); }

int ChildProcess::wait() {
  while (!ended_) ended_ = ::waitpid(pid_, &status_, 0) == pid_;
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

std::string ChildProcess::error_line() const {
  std::istringstream lines(posix_file_system().read_file(output_file_));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("error: ")) return line.substr(7);
  }
  return "";
}

}  // namespace rl_training
