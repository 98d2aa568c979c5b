#include "rl_training/models/compute.h"

#include <ATen/Parallel.h>

namespace rl_training {

void use_one_library_thread() { at::set_num_threads(1); }

}  // namespace rl_training
