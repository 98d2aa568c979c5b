#include "rl_training/data/sandbox.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "rl_training/data/call_filter.h"
#include "rl_training/data/descriptor.h"
#include "rl_training/data/sandbox_channel.h"
#include "rl_training/util/error.h"
#include "rl_training/util/file_calls.h"

namespace rl_training {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int kOutputDescriptor = 3;

void limit(int resource, int64_t value) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) ::_exit(1);
  now.rlim_max = std::min(now.rlim_max, static_cast<rlim_t>(value));
  now.rlim_cur = now.rlim_max;
  if (::setrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) ::_exit(1);
}

// Redirects the standard streams to /dev/null and closes all other descriptors of the parent except
// the output, which becomes descriptor 3.
void close_descriptors(int output) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) ::_exit(1);
  // Duplicates both descriptors to numbers of at least 10, because the original numbers may be
  // below 3 if the parent runs without standard streams.
  const int kept = ::fcntl(output, F_DUPFD_CLOEXEC, 10), quiet = ::fcntl(null, F_DUPFD_CLOEXEC, 10);
  if (kept < 0 || quiet < 0) ::_exit(1);
  for (const int stream : {0, 1, 2}) ::dup2(quiet, stream);
  if (::dup2(kept, kOutputDescriptor) < 0) ::_exit(1);
  if (::close_range(kOutputDescriptor + 1, ~0u, 0) != 0) {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    for (rlim_t fd = kOutputDescriptor + 1; fd < std::min<rlim_t>(files.rlim_cur, 65536); ++fd) {
      ::close(static_cast<int>(fd));
    }
  }
}

// Size of the address space of this process, in bytes. Takes no locks, so that a child may call
// this after fork().
int64_t mapped_bytes() {
  const Descriptor file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  char text[32] = {};
  if (file.get() < 0 || ::read(file.get(), text, sizeof text - 1) <= 0) return 0;
  return std::strtoll(text, nullptr, 10) * ::sysconf(_SC_PAGESIZE);
}

void confine(int output, const SandboxLimits& limits) {
  // The child inherits all memory that the parent has mapped, including memory that other threads
  // mapped just before the fork. The limit applies only to memory that the child adds.
  const int64_t inherited_bytes = mapped_bytes();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_DUMPABLE, 0);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGSYS}) {
    ::signal(signal, SIG_DFL);
  }
  // The child ignores these signals, which may be sent to the whole process group. The parent
  // handles them, and the kernel kills the child when the parent ends.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) ::signal(signal, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // If SIGXFSZ is ignored, a write beyond the file size limit fails instead of killing the process.
  ::signal(SIGXFSZ, SIG_IGN);
  close_descriptors(output);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, limits.cpu_seconds);
  limit(RLIMIT_FSIZE, limits.output_bytes + kMaxSandboxMessage);
  limit(RLIMIT_AS, inherited_bytes + limits.memory_bytes);
  // A failure to install the filter is ignored, but `rl_training doctor` reports it.
  if (sandbox_is_strict() && !limits.writes_files) {
    install_call_filter(CallFilter::opening, kOutputDescriptor);
  }
}

[[noreturn]] void run_child(const std::string& file, const SandboxLimits& limits,
                            const std::function<void(SandboxOutput&)>& reader) {
  // Reduces memory use: freed large blocks return to the system, and threads share one arena.
  ::mallopt(M_MMAP_THRESHOLD, 256 * 1024);
  ::mallopt(M_ARENA_MAX, 1);
  SandboxSender output(kOutputDescriptor);
  try {
    try {
      reader(output);
      output.finish();
    } catch (const Error& error) {
      output.fail(error);
    } catch (const std::bad_alloc&) {
      output.fail(Error(ErrorKind::data, {file, 0, ""},
                        "needs more memory than the limit of " +
                            std::to_string(limits.memory_bytes / kMiB) + " MiB"));
    } catch (const std::exception& error) {
      output.fail(Error(ErrorKind::data, {file, 0, ""}, error.what()));
    }
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

// Waits for the child and kills it after `seconds`. The CPU time limit does not stop a child that
// hangs without using CPU time.
int wait_for(pid_t child, int64_t seconds) {
  const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (handle.get() >= 0) {
    pollfd ready{handle.get(), POLLIN, 0};
    const auto limit_ms = static_cast<int>(std::min<int64_t>(seconds, 1'000'000) * 1000);
    const int result = retry_interrupted([&] { return ::poll(&ready, 1, limit_ms); });
    if (result == 0) ::kill(child, SIGKILL);
  }
  int status = 0;
  if (retry_interrupted([&] { return ::waitpid(child, &status, 0); }) < 0) {
    throw Error(ErrorKind::internal, "lost the reader process");
  }
  return status;
}

void check_status(const std::string& file, int status, const SandboxLimits& limits) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  std::string reason = "damaged or hostile file (reader died with ";
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    // The soft and the hard CPU limit are equal, so the kernel may send SIGXCPU or SIGKILL.
    if (signal == SIGXCPU || signal == SIGKILL) {
      reason = "took too long or was killed (reading is limited to " +
               std::to_string(limits.cpu_seconds) + " s of CPU time; got ";
    }
    reason += "signal " + std::to_string(signal) + ")";
  } else {
    reason += "exit code " + std::to_string(WEXITSTATUS(status)) + ")";
  }
  throw Error(ErrorKind::data, {file, 0, ""}, reason);
}

}  // namespace

SandboxLimits SandboxLimits::for_file(const std::string& path) {
  struct stat info {};
  const int64_t size = ::stat(path.c_str(), &info) == 0 ? info.st_size : 0;
  constexpr int64_t kMaxArrays = int64_t{8} << 30;  // the limit in npz_archive.h and hdf5_file.h
  // 4400 is 1100 * 4: readers accept compression ratios up to 1100, and one-byte values grow by a
  // factor of 4 when they are converted to float.
  const int64_t arrays = size > kMaxArrays / 4400 ? kMaxArrays : 4400 * size;
  SandboxLimits limits;
  // The factor 2 accounts for the row records, which are stored in addition to the arrays.
  limits.output_bytes = 2 * arrays;
  // The factor 3 accounts for the mapped output and for arrays that exist twice for a short time.
  limits.memory_bytes = 3 * arrays + 256 * kMiB;
  limits.cpu_seconds = 30 + size / (5 * kMiB);
  return limits;
}

SandboxLimits SandboxLimits::for_writing(int64_t bytes) {
  SandboxLimits limits;
  limits.memory_bytes = 4 * bytes + 256 * kMiB;
  limits.output_bytes = 2 * bytes + 16 * kMiB;
  limits.cpu_seconds = 60 + bytes / kMiB;
  limits.writes_files = true;
  return limits;
}

Json facts_of_reader(const std::string& text, const std::string& file) {
  Json facts = parse_untrusted_json(text, {64, std::numeric_limits<int64_t>::max()});
  if (!facts.is_discarded()) return facts;
  throw Error(ErrorKind::data, {file, 0, ""},
              "damaged or hostile file (its reader sent no result)");
}

void forbid_opening_files() {
  if (!sandbox_is_strict()) return;
  limit(RLIMIT_NOFILE, 0);
  install_call_filter(CallFilter::reading, kOutputDescriptor);
}

bool sandbox_is_strict() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(undefined_behavior_sanitizer)
  return false;
#else
  return true;
#endif
#else
  return true;
#endif
}

SandboxResult run_in_sandbox(const std::string& file, const SandboxLimits& limits,
                             const std::function<void(SandboxOutput&)>& reader, int output) {
  const Descriptor memory(output < 0 ? ::memfd_create("rl_training", MFD_CLOEXEC) : -1);
  const int channel = output < 0 ? memory.get() : output;
  if (channel < 0) {
    throw Error(ErrorKind::io, {file, 0, ""},
                std::string("cannot start a reader: ") + std::strerror(errno));
  }
  const pid_t child = ::fork();
  if (child < 0) {
    throw Error(ErrorKind::io, {file, 0, ""},
                std::string("cannot start a reader: ") + std::strerror(errno));
  }
  if (child == 0) {
    confine(channel, limits);
    run_child(file, limits, reader);
  }
  check_status(file, wait_for(child, 60 + 10 * limits.cpu_seconds), limits);
  return receive_from_sandbox(channel);
}

}  // namespace rl_training
