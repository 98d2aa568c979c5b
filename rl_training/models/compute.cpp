#include "rl_training/models/compute.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>

#include "rl_training/models/tensor_memory.h"

namespace rl_training {

void prepare_libraries() {
  at::set_num_threads(1);
  keep_tensor_memory();
}

torch::Tensor empty_floats(torch::IntArrayRef shape) {
  return torch::Tensor(at::detail::empty_cpu(shape, torch::kFloat, /*pin_memory=*/false));
}

torch::Tensor without_graph(const torch::Tensor& x) { return x.tensor_data(); }

}  // namespace rl_training
