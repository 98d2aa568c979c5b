#pragma once
#include <torch/types.h>

#include "rl_training/util/thread_pool.h"

namespace rl_training {

// Where networks live and who does their work.
struct Compute {
  ThreadPool* pool = nullptr;  // null: the calling thread alone
  torch::Device device = torch::kCPU;
};

// Our pool is the only source of parallelism: ATen splits large reductions by its thread count,
// which would change bits. Tensors keep their memory (tensor_memory.h). Call once before training.
void prepare_libraries();

// An uninitialised float32 tensor on the CPU, by the short way: torch::empty asks the dispatcher.
torch::Tensor empty_floats(torch::IntArrayRef shape);

// The same numbers outside any graph, again by the short way: detach() makes a view that knows its
// origin. For numbers that nobody changes in place.
torch::Tensor without_graph(const torch::Tensor& x);

template <class Body>
void run_tasks(ThreadPool* pool, int64_t tasks, const Body& body) {
  if (pool != nullptr) {
    pool->run(tasks, body);
  } else {
    for (int64_t i = 0; i < tasks; ++i) body(i);
  }
}

}  // namespace rl_training
