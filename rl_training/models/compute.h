#pragma once
#include <torch/types.h>

#include "rl_training/util/process_group.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {

// Who does the work of networks.
struct Compute {
  ThreadPool* pool = nullptr;         // null: the calling thread alone
  ProcessGroup* processes = nullptr;  // null: this process alone
};

// While one lives, LibTorch's operators and oneDNN's products use the calling thread alone. ATen
// splits large reductions by its thread count, which would change bits: our pool is the only source
// of parallelism. The setting is the calling thread's own and is restored afterwards. Only a
// LibTorch that brings its own copy of the OpenMP runtime is limited as a whole meanwhile.
class SingleThreadedTensors {
 public:
  SingleThreadedTensors();
  ~SingleThreadedTensors();
  SingleThreadedTensors(const SingleThreadedTensors&) = delete;
  SingleThreadedTensors& operator=(const SingleThreadedTensors&) = delete;

 private:
  int before_;            // threads of this thread's parallel regions
  int process_wide_ = 0;  // what to restore if LibTorch has its own OpenMP; 0: nothing
};

// An uninitialised float32 tensor on the CPU, by a shortcut: torch::empty goes through the
// dispatcher.
torch::Tensor empty_floats(torch::IntArrayRef shape);

// The same values outside any graph, again by a shortcut: detach() makes a view that knows its
// origin. For values that are not changed in place.
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
