#include "rl_training/sweep/child_process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"

namespace rl_training {
namespace {

// Runs in the child. Only async-signal-safe calls are allowed between fork and exec.
[[noreturn]] void become(char* const* argv, int output, const ChildOptions& options,
                         const cpu_set_t* cores) {
  ::prctl(PR_SET_PDEATHSIG, options.parent_death);
  if (options.own_group) ::setpgid(0, 0);
  // A request for a checkpoint (SIGUSR1) must not kill the child before its signal thread has
  // started.
  ::signal(SIGUSR1, SIG_IGN);
  // If setting the affinity fails, the child is slower but still correct.
  if (cores != nullptr) static_cast<void>(::sched_setaffinity(0, sizeof(*cores), cores));
  const int null = ::open("/dev/null", O_RDONLY);
  if (::dup2(null, 0) < 0 || ::dup2(output, 1) < 0 || ::dup2(output, 2) < 0) ::_exit(1);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv("/proc/self/exe", argv);
  ::_exit(1);
}

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> arguments, std::string output_file,
                           const ChildOptions& options)
    : output_file_(std::move(output_file)) {
  const int output =
      ::open(output_file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (output < 0) throw Error(ErrorKind::io, {output_file_, 0, ""}, std::strerror(errno));
  arguments.insert(arguments.begin(), "rl_training");
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const int core : options.cores) CPU_SET(core, &cores);
  pid_ = ::fork();
  if (pid_ == 0) become(argv.data(), output, options, options.cores.empty() ? nullptr : &cores);
  const int code = errno;
  ::close(output);
  if (pid_ < 0) {
    throw Error(ErrorKind::io, std::string("cannot start a process: ") + std::strerror(code));
  }
}

ChildProcess::~ChildProcess() {
  if (ended()) return;
  send(SIGKILL);
  wait();
}

bool ChildProcess::ended() {
  if (!ended_) ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
  return ended_;
}

void ChildProcess::send(int signal) const {
  if (!ended_) ::kill(pid_, signal);
}

int ChildProcess::wait() {
  while (!ended_) ended_ = ::waitpid(pid_, &status_, 0) == pid_;
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

std::string ChildProcess::output() const { return posix_file_system().read_file(output_file_); }

std::string ChildProcess::error_line() const {
  std::istringstream lines(output());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("error: ")) return line.substr(7);
  }
  return "";
}

std::string program_file() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

}  // namespace rl_training
