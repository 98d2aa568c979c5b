#include "rl_training/data/call_filter.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "rl_training/data/sandbox.h"

#ifdef RL_TRAINING_SECCOMP
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>

#include <cerrno>
#include <initializer_list>
#include <memory>
#endif

namespace rl_training {

#ifdef RL_TRAINING_SECCOMP
namespace {

using Filter = std::unique_ptr<void, decltype(&seccomp_release)>;

// Adding a rule fails if the architecture or the library does not support the call. Such a failure
// is ignored, because a missing rule only makes the filter stricter.
void allow(const Filter& filter, std::initializer_list<int> calls) {
  for (const int call : calls) seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0);
}

void allow_if(const Filter& filter, int call, const scmp_arg_cmp& condition) {
  seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, call, 1, &condition);
}

// The condition `(argument & mask) == value` on the argument with this index, counted from 0.
scmp_arg_cmp bits(unsigned index, scmp_datum_t mask, scmp_datum_t value) {
  return {index, SCMP_CMP_MASKED_EQ, mask, value};
}

scmp_arg_cmp is(unsigned index, scmp_datum_t value) { return {index, SCMP_CMP_EQ, value, 0}; }

void allow_reading(const Filter& filter, int output) {
  allow(filter, {SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(readv), SCMP_SYS(preadv),
                 SCMP_SYS(lseek), SCMP_SYS(fstat), SCMP_SYS(close), SCMP_SYS(fadvise64)});
  // Newer C libraries implement fstat() as newfstatat() with AT_EMPTY_PATH and an empty path. A
  // filter cannot see the path, so a compromised process can still find out whether a file exists
  // and how large it is.
  allow_if(filter, SCMP_SYS(newfstatat), bits(3, AT_EMPTY_PATH, AT_EMPTY_PATH));
  for (const int command : {F_GETFD, F_SETFD, F_GETFL}) {
    allow_if(filter, SCMP_SYS(fcntl), is(1, static_cast<scmp_datum_t>(command)));
  }
  for (const int call :
       {SCMP_SYS(pwrite64), SCMP_SYS(write), SCMP_SYS(ftruncate), SCMP_SYS(fallocate)}) {
    allow_if(filter, call, is(0, static_cast<scmp_datum_t>(output)));
  }
  for (const int stream : {1, 2}) {  // stdout and stderr, redirected to /dev/null
    allow_if(filter, SCMP_SYS(write), is(0, static_cast<scmp_datum_t>(stream)));
  }
}

void allow_memory_and_threads(const Filter& filter) {
  allow(filter, {SCMP_SYS(munmap),         SCMP_SYS(mremap),       SCMP_SYS(brk),
                 SCMP_SYS(madvise),        SCMP_SYS(futex),        SCMP_SYS(set_robust_list),
                 SCMP_SYS(rseq),           SCMP_SYS(sched_yield),  SCMP_SYS(sched_getaffinity),
                 SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigreturn),
                 SCMP_SYS(sigaltstack),    SCMP_SYS(getpid),       SCMP_SYS(gettid),
                 SCMP_SYS(clock_gettime),  SCMP_SYS(gettimeofday), SCMP_SYS(clock_nanosleep),
                 SCMP_SYS(getrandom),      SCMP_SYS(sysinfo),      SCMP_SYS(exit),
                 SCMP_SYS(exit_group)});
  // A reader needs no executable memory.
  allow_if(filter, SCMP_SYS(mmap), bits(2, PROT_EXEC, 0));
  allow_if(filter, SCMP_SYS(mprotect), bits(2, PROT_EXEC, 0));
  // Allows new threads but no new processes. The filter cannot inspect the flags of clone3, so
  // clone3 always fails. The C library then falls back to clone.
  allow_if(filter, SCMP_SYS(clone), bits(0, CLONE_THREAD, CLONE_THREAD));
  seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  // abort() sends a signal to its own process.
  allow_if(filter, SCMP_SYS(tgkill), is(0, static_cast<scmp_datum_t>(::getpid())));
}

void allow_opening(const Filter& filter) {
  constexpr scmp_datum_t kWriting = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
  allow_if(filter, SCMP_SYS(openat), bits(2, kWriting, O_RDONLY));
  allow_if(filter, SCMP_SYS(open), bits(1, kWriting, O_RDONLY));
  allow(filter, {SCMP_SYS(newfstatat), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(statx),
                 SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink),
                 SCMP_SYS(readlinkat), SCMP_SYS(getcwd), SCMP_SYS(getdents64)});
  // The process may query and lower its own limits. It needs prctl and seccomp to install the
  // filter CallFilter::reading later.
  allow_if(filter, SCMP_SYS(prlimit64), is(0, 0));
  allow(filter, {SCMP_SYS(prctl), SCMP_SYS(seccomp)});
}

}  // namespace

bool install_call_filter(CallFilter kind, int output_descriptor) {
  const Filter filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)), seccomp_release);
  if (filter == nullptr) return false;
  allow_reading(filter, output_descriptor);
  allow_memory_and_threads(filter);
  if (kind == CallFilter::opening) allow_opening(filter);
  return seccomp_load(filter.get()) == 0;
}

#else

bool install_call_filter(CallFilter, int) { return false; }

#endif

bool readers_are_filtered() {
  if (!sandbox_is_strict()) return false;
  const SandboxLimits limits{int64_t{64} << 20, int64_t{1} << 20, 10};
  return run_in_sandbox("doctor", limits, [](SandboxOutput& output) {
           forbid_opening_files();
           // getppid() fails only if the filter blocks it.
           output.text(::syscall(SYS_getppid) < 0 ? "filtered" : "");
         }).text == "filtered";
}

}  // namespace rl_training
