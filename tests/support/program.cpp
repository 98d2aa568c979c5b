#include "tests/support/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

extern char** environ;

namespace rl_training {
namespace {

constexpr auto kDeadline = std::chrono::minutes(20);  // generous, for a busy machine

}  // namespace

Json ProgramResult::json() const { return Json::parse(out); }

bool ProgramResult::one_error_line() const {
  return err.starts_with("error: ") && std::count(err.begin(), err.end(), '\n') == 1;
}

Program::Program(std::vector<std::string> arguments) : Program(std::move(arguments), Input{}) {}

Program::Program(std::vector<std::string> arguments, const Input& input) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (input.stdin_descriptor >= 0) {
    posix_spawn_file_actions_adddup2(&actions, input.stdin_descriptor, 0);
  } else {
    posix_spawn_file_actions_addopen(&actions, 0, input.stdin_file.c_str(), O_RDONLY, 0);
  }
  const auto open_for_writing = [&](int descriptor, const std::string& given, const char* name) {
    const auto path = given.empty() ? directory_ / name : given;
    posix_spawn_file_actions_addopen(&actions, descriptor, path.c_str(),
                                     O_WRONLY | O_CREAT | O_NOCTTY, 0600);
  };
  open_for_writing(1, input.stdout_file, "stdout");
  open_for_writing(2, input.stderr_file, "stderr");
  if (!input.working_directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, input.working_directory.c_str());
  }
  const auto program = input.program.empty() ? RL_TRAINING_PROGRAM : input.program;
  arguments.insert(arguments.begin(), program);
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const int failed = posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + program);
}

Program::~Program() {
  if (ended()) return;
  send(SIGKILL);
  ::waitpid(pid_, &status_, 0);
}

void Program::send(int signal) const { ::kill(pid_, signal); }

std::string Program::output_so_far() const { return read_all(directory_ / "stdout"); }

bool Program::ended() {
  if (!ended_) ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
  return ended_;
}

ProgramResult Program::wait() {
  if (!becomes_true([this] { return ended(); })) throw std::runtime_error("it does not end");
  ProgramResult result;
  result.exit_code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  result.out = output_so_far();
  result.err = read_all(directory_ / "stderr");
  return result;
}

ProgramResult run(const std::vector<std::string>& arguments) { return Program(arguments).wait(); }

ProgramResult run(const std::vector<std::string>& arguments, const Program::Input& input) {
  return Program(arguments, input).wait();
}

bool becomes_true(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::poll(nullptr, 0, 1);  // waits 1 ms and leaves the core to the awaited program
  }
  return true;
}

}  // namespace rl_training
