#include "rl_training/models/compute.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <omp.h>

namespace rl_training {

SingleThreadedTensors::SingleThreadedTensors() {
  // This call makes LibTorch initialise the thread count of this thread. If LibTorch did so later,
  // it would overwrite our setting.
  at::get_num_threads();
  before_ = omp_get_max_threads();
  omp_set_num_threads(1);
  // omp_set_num_threads has no effect on a LibTorch with its own copy of the OpenMP runtime.
  if (at::get_num_threads() == 1) return;
  process_wide_ = at::get_num_threads();
  at::set_num_threads(1);
}

SingleThreadedTensors::~SingleThreadedTensors() {
  if (process_wide_ > 0) at::set_num_threads(process_wide_);
  omp_set_num_threads(before_);
}

torch::Tensor empty_floats(torch::IntArrayRef shape) {
  return torch::Tensor(at::detail::empty_cpu(shape, torch::kFloat, /*pin_memory=*/false));
}

torch::Tensor without_graph(const torch::Tensor& x) { return x.tensor_data(); }

}  // namespace rl_training
