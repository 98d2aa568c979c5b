#include "rl_training/models/compute.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>

namespace rl_training {

void use_one_library_thread() { at::set_num_threads(1); }

torch::Tensor empty_floats(torch::IntArrayRef shape) {
  return torch::Tensor(at::detail::empty_cpu(shape, torch::kFloat, /*pin_memory=*/false));
}

}  // namespace rl_training
