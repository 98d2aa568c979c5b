#include "bench/peer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <vector>

#include "rl_training/models/kernels.h"
#include "rl_training/util/error.h"

extern char** environ;

namespace rl_training {
namespace {

// Returns an assignment NAME=VALUE for the peer's environment. It normally sets OpenBLAS's core
// type, because Debian's OpenBLAS 0.3.21 does not recognise newer processors: it falls back to
// SSE3, which would slow the peer down.
std::string openblas_core() {
  if (const char* given = std::getenv("OPENBLAS_CORETYPE")) {
    return std::string("OPENBLAS_CORETYPE=") + given;
  }
  const std::string set = kernels().name;
  return set == "avx512" ? "OPENBLAS_CORETYPE=SkylakeX"
         : set == "avx2" ? "OPENBLAS_CORETYPE=Haswell"
                         : "OPENBLAS_VERBOSE=0";
}

bool ends_with_py(const std::string& word) { return word.size() > 3 && word.ends_with(".py"); }

// Splits a command line into words. If the first word is a Python script, Debian's Python runs it.
std::vector<std::string> words_of(const std::string& command) {
  std::istringstream stream(command);
  std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  if (!words.empty() && ends_with_py(words[0])) words.insert(words.begin(), "/usr/bin/python3");
  return words;
}

// A separate process that answers "run U" with the seconds that U updates took. bench/peer.py
// describes the protocol.
class PeerProcess final : public Peer {
 public:
  PeerProcess(const BenchWork& work, const std::string& command, const ThreadSetting& threads)
      : command_(command) {
    int request[2], answer[2];
    // Close-on-exec: a second peer must not inherit the pipe of the first and keep it open.
    if (pipe2(request, O_CLOEXEC) != 0 || pipe2(answer, O_CLOEXEC) != 0) {
      throw Error(ErrorKind::io, {command, 0, ""}, "cannot make pipes");
    }
    std::vector<std::string> words = {
        "/usr/bin/env", fmt::format("OPENBLAS_NUM_THREADS={}", threads.blas),
        fmt::format("OMP_NUM_THREADS={}", threads.own), openblas_core()};
    for (const auto& word : words_of(command)) words.push_back(word);
    for (const auto& word :
         {std::string("--serve"), "--algo=" + work.algo,
          fmt::format("--hidden={}", fmt::join(work.options->hidden_sizes, ",")),
          fmt::format("--batch={}", work.options->batch_size),
          fmt::format("--obs={}", work.obs_dim), fmt::format("--action={}", work.action_dim),
          fmt::format("--threads={}", threads.own),
          fmt::format("--blas-threads={}", threads.blas)}) {
      words.push_back(word);
    }
    start(words, request[0], answer[1]);
    to_ = fdopen(request[1], "w");
    from_ = fdopen(answer[0], "r");
  }

  ~PeerProcess() override {
    std::fclose(to_);  // the peer exits at the end of its input
    std::fclose(from_);
    wait();
  }
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  const std::string& wait_for_title() override {
    title_ = read_line();
    if (title_.empty() && wait() != 0) throw ended();
    return title_;
  }

  double seconds_for(int64_t updates) override {
    // If SIGPIPE were not ignored, writing to a peer that has ended would kill this process.
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    std::fprintf(to_, "run %lld\n", static_cast<long long>(updates));
    std::fflush(to_);
    std::signal(SIGPIPE, before);
    const auto line = read_line();
    double seconds = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), seconds).ec != std::errc()) {
      throw ended();
    }
    return seconds;
  }

 private:
  Error ended() {
    return Error(ErrorKind::io, {command_, 0, "--peer"},
                 fmt::format("the peer ended without an answer (exit code {})", wait()));
  }

  void start(std::vector<std::string>& words, int input, int output) {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;  // this program blocks signals, but the peer must receive them
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int failed =
        posix_spawn(&process_, arguments[0], &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(input);
    close(output);
    if (failed != 0) throw Error(ErrorKind::io, {command_, 0, "--peer"}, "cannot start it");
  }

  std::string read_line() {
    char line[256] = {};
    if (std::fgets(line, sizeof(line), from_) == nullptr) return "";
    std::string text = line;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

  // Waits until the peer has ended and returns its exit code.
  int wait() {
    if (process_ > 0) {
      int status = 0;
      waitpid(process_, &status, 0);
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      process_ = 0;
    }
    return exit_code_;
  }

  std::string command_, title_;
  pid_t process_ = 0;
  int exit_code_ = 0;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace

void check_peer(const std::string& command) {
  const auto words = words_of(command);
  if (words.empty()) {
    throw Error(ErrorKind::config, {"", 0, "--peer"}, "no command (expected [PYTHON] FILE ...)");
  }
  for (size_t i = 0; i < words.size(); ++i) {
    const bool file = ends_with_py(words[i]) || (i == 0 && words[i].find('/') != std::string::npos);
    if (file && access(words[i].c_str(), R_OK) != 0) {
      throw Error(ErrorKind::io, {words[i], 0, "--peer"}, "no such file");
    }
  }
}

std::unique_ptr<Peer> start_peer(const BenchWork& work, const std::string& command,
                                 const ThreadSetting& threads) {
  return std::make_unique<PeerProcess>(work, command, threads);
}

}  // namespace rl_training
