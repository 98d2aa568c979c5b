#include <cstdlib>
#include <string>

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

// The widest first.
struct Choice {
  const Kernels& kernels;
  bool available;
};

const Kernels& choose() {
  const Choice choices[] = {
#ifdef RL_TRAINING_X86_KERNELS
      {avx512::kKernels, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                             __builtin_cpu_supports("avx512dq") &&
                             __builtin_cpu_supports("avx512bw")},
      {avx2::kKernels, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
#endif
      {baseline::kKernels, true},
  };
  const char* wanted = std::getenv("RL_TRAINING_KERNELS");
  std::string names;
  for (const Choice& choice : choices) {
    if (!choice.available) continue;
    if (wanted == nullptr || choice.kernels.name == std::string(wanted)) return choice.kernels;
    names += (names.empty() ? "" : ", ") + std::string(choice.kernels.name);
  }
  throw Error(ErrorKind::config, {"", 0, "RL_TRAINING_KERNELS"},
              "this processor has no such kernels (expected " + names + ", got " + wanted + ")");
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace rl_training
