#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/contenders.h"
#include "rl_training/models/kernels.h"
#include "rl_training/util/error.h"

extern char** environ;

namespace rl_training {
namespace {

// Debian's OpenBLAS 0.3.21 does not know newer processors and falls back to SSE3; the peer shall
// not lose by that.
std::string openblas_core() {
  if (const char* given = std::getenv("OPENBLAS_CORETYPE")) {
    return std::string("OPENBLAS_CORETYPE=") + given;
  }
  const std::string set = kernels().name;
  return set == "avx512" ? "OPENBLAS_CORETYPE=SkylakeX"
         : set == "avx2" ? "OPENBLAS_CORETYPE=Haswell"
                         : "OPENBLAS_VERBOSE=0";
}

// Python in a separate process that answers "run U" with the seconds taken.
class EagerTorch final : public Contender {
 public:
  EagerTorch(const BenchWork& work, const std::string& script, int torch_threads, int blas_threads)
      : script_(script) {
    int request[2], answer[2];
    // Close-on-exec: a second peer must not hold the first one's pipe open.
    if (pipe2(request, O_CLOEXEC) != 0 || pipe2(answer, O_CLOEXEC) != 0) {
      throw Error(ErrorKind::io, {script, 0, ""}, "cannot make pipes");
    }
    const auto blas = std::to_string(blas_threads);
    std::vector<std::string> words = {
        "/usr/bin/env",
        "OPENBLAS_NUM_THREADS=" + blas,
        "OMP_NUM_THREADS=" + std::to_string(torch_threads),
        openblas_core(),
        "/usr/bin/python3",
        script,
        "--serve",
        "--algo=" + work.algo,
        fmt::format("--hidden={}", fmt::join(work.options->hidden_sizes, ",")),
        fmt::format("--batch={}", work.options->batch_size),
        fmt::format("--obs={}", work.obs_dim),
        fmt::format("--action={}", work.action_dim),
        fmt::format("--torch-threads={}", torch_threads)};
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, request[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, answer[1], STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;  // the program has signals blocked that the peer shall not
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int failed =
        posix_spawn(&process_, arguments[0], &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(request[0]);
    close(answer[1]);
    to_ = fdopen(request[1], "w");
    from_ = fdopen(answer[0], "r");
    if (failed != 0) throw Error(ErrorKind::io, {script, 0, ""}, "cannot start python3");
    seconds_for(1);  // it answers, and is warm
  }

  ~EagerTorch() override {
    std::fclose(to_);  // end of input ends it
    std::fclose(from_);
    waitpid(process_, nullptr, 0);
  }
  EagerTorch(const EagerTorch&) = delete;
  EagerTorch& operator=(const EagerTorch&) = delete;

  double seconds_for(int64_t updates) override {
    std::fprintf(to_, "run %lld\n", static_cast<long long>(updates));
    std::fflush(to_);
    char line[64] = {};
    double seconds = 0;
    if (std::fgets(line, sizeof(line), from_) == nullptr ||
        std::from_chars(line, line + sizeof(line), seconds).ec != std::errc()) {
      throw Error(ErrorKind::io, {script_, 0, ""},
                  "the PyTorch peer ended without an answer (is python3-torch installed?)");
    }
    return seconds;
  }

 private:
  std::string script_;
  pid_t process_ = 0;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace

std::unique_ptr<Contender> make_eager_torch(const BenchWork& work, const std::string& script,
                                            int torch_threads, int blas_threads) {
  return std::make_unique<EagerTorch>(work, script, torch_threads, blas_threads);
}

}  // namespace rl_training
