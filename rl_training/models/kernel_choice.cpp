#include <cstdlib>
#include <string>
#include <vector>

#include "rl_training/models/kernels.h"
#include "rl_training/util/error.h"

namespace rl_training {

namespace baseline {
extern const Kernels kKernels;
}
#ifdef RL_TRAINING_X86_KERNELS
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
#endif

namespace {

std::vector<const Kernels*> find_available() {
  std::vector<const Kernels*> sets;
#ifdef RL_TRAINING_X86_KERNELS
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")) {
    sets.push_back(&avx512::kKernels);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    sets.push_back(&avx2::kKernels);
  }
#endif
  sets.push_back(&baseline::kKernels);
  return sets;
}

const std::vector<const Kernels*>& available() {
  static const std::vector<const Kernels*> sets = find_available();
  return sets;
}

const Kernels& choose() {
  const char* wanted = std::getenv("RL_TRAINING_KERNELS");
  if (wanted != nullptr && *wanted == '\0') wanted = nullptr;  // an empty value counts as not set
  std::string names;
  for (const Kernels* set : available()) {
    if (wanted == nullptr || set->name == std::string(wanted)) return *set;
    names += (names.empty() ? "" : ", ") + std::string(set->name);
  }
  throw Error(ErrorKind::config, {"", 0, "RL_TRAINING_KERNELS"},
              "this processor has no such kernels (expected " + names + ", got " + wanted + ")");
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

const Kernels* available_kernels(size_t rank) {
  return rank < available().size() ? available()[rank] : nullptr;
}

}  // namespace rl_training
