#pragma once
#include <torch/types.h>

#include <algorithm>

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

// Calls body(first, count) for consecutive pieces of an array of `size` values. The pieces are
// equal except for rounding, so that a thread that computed one half of the members of an ensemble
// also updates their parameters, which are still in its cache.
template <class Body>
void run_pieces(ThreadPool* pool, int64_t size, const Body& body) {
  constexpr int64_t kSmallest = 4096, kLine = 16;
  const int64_t pieces = std::max<int64_t>(1, size / kSmallest);
  const auto start = [&](int64_t piece) {
    return piece == pieces ? size : piece * size / pieces / kLine * kLine;
  };
  run_tasks(pool, pieces,
            [&](int64_t piece) { body(start(piece), start(piece + 1) - start(piece)); });
}

}  // namespace rl_training
