// Reads an untrusted HDF5 file with the readers of all HDF5 dataset kinds, in a child process. A
// crash inside libhdf5 kills only the child and is not a finding. A sanitizer report about the code
// of rl_training ends the child with an exit code, which is a finding.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>

#include "rl_training/data/d3rlpy.h"
#include "rl_training/data/d4rl.h"
#include "rl_training/data/minari.h"
#include "rl_training/data/robomimic.h"
#include "rl_training/util/error.h"
#include "rl_training/util/scratch_directory.h"

// Start and end of the coverage counters. Both addresses are null if the compiler adds no counters.
extern "C" [[gnu::weak]] char __start___sancov_cntrs, __stop___sancov_cntrs;

namespace {

using namespace rl_training;

// Shares the counters with child processes, because the fuzzer must see the coverage of these
// processes. Only whole memory pages can be shared.
bool share_counters() {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<uintptr_t>(&__start___sancov_cntrs) + page - 1) / page;
  const auto end = reinterpret_cast<uintptr_t>(&__stop___sancov_cntrs) / page;
  if (&__start___sancov_cntrs == nullptr || end <= first) return false;
  return ::mmap(reinterpret_cast<void*>(first * page), (end - first) * page, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

// Tries all readers, even if an earlier reader has failed. Throws an error only if all of them
// fail.
LoggedSteps read_as_every_kind(const std::string& path, SandboxOutput& output) {
  const DatasetReadOptions options;
  LoggedSteps steps;
  std::exception_ptr problem;
  bool found = false;
  for (const auto reader :
       {read_minari_steps, read_d3rlpy_steps, read_robomimic_steps, read_d4rl_steps}) {
    try {
      steps = reader(path, options, output);
      found = true;
    } catch (const Error&) {
      problem = std::current_exception();
    }
  }
  if (!found) std::rethrow_exception(problem);
  describe_plain_d4rl(path);
  return steps;
}

}  // namespace

// libhdf5 is not compiled with the sanitizers. These options therefore disable the checks of memcpy
// and similar functions, and make failed allocations return null instead of ending the process.
extern "C" const char* __asan_default_options() {
  return "replace_intrin=0:allocator_may_return_null=1";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  [[maybe_unused]] static const bool shared = share_counters();
  static const ScratchDirectory directory;
  const auto path = directory.file("data.hdf5");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    read_steps_in_sandbox(path,
                          [&](SandboxOutput& output) { return read_as_every_kind(path, output); });
  } catch (const Error& error) {
    if (error.message().find("exit code") != std::string::npos) std::abort();
  }
  return 0;
}
