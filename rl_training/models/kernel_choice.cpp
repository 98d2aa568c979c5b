#include "rl_training/models/kernels.h"

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

const Kernels& kernels() {
#ifdef RL_TRAINING_X86_KERNELS
  static const Kernels& chosen =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")
          ? avx512::kKernels
      : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? avx2::kKernels
                                                                        : baseline::kKernels;
  return chosen;
#else
  return baseline::kKernels;
#endif
}

}  // namespace rl_training
