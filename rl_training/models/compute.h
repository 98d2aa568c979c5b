#pragma once
#include <torch/types.h>

#include "rl_training/util/process_group.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {

// The threads and processes that share the computation of networks.
struct Compute {
  ThreadPool* pool = nullptr;         // null: only the calling thread
  ProcessGroup* processes = nullptr;  // null: only this process
};

// While an object of this class exists, LibTorch's operators and the products of oneDNN and
// OpenBLAS use only the calling thread. ATen splits large reductions by its thread count, which
// would change results, so our pool must be the only source of parallelism. The destructor restores
// the previous thread counts. OpenMP is limited only on the calling thread, unless LibTorch has its
// own copy of the OpenMP runtime; then it is limited in the whole process. OpenBLAS is always
// limited in the whole process.
class SingleThreadedTensors {
 public:
  SingleThreadedTensors();
  ~SingleThreadedTensors();
  SingleThreadedTensors(const SingleThreadedTensors&) = delete;
  SingleThreadedTensors& operator=(const SingleThreadedTensors&) = delete;

 private:
  int before_;            // OpenMP thread count to restore on this thread
  int process_wide_ = 0;  // LibTorch's own OpenMP thread count to restore; 0: unchanged
};

// Creates an uninitialised float32 tensor on the CPU. This function is faster than torch::empty,
// which uses the dispatcher.
torch::Tensor empty_floats(torch::IntArrayRef shape);

// Returns a tensor with the same values but without an autograd graph. Faster than detach(), which
// creates a view that autograd tracks. Do not change the values in place.
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
