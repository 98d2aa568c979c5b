#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace rl_training {

// Runs numbered tasks on several threads, efficiently even if a task takes only ten microseconds.
// Tasks run concurrently, so a task must write only to its own memory. Compute sums over tasks
// afterwards, in task order, so that results do not depend on the number of threads.
//
// Each thread starts with its own share of consecutive tasks, the first thread with the first
// tasks, and then takes over tasks of other threads. If the tasks of successive calls of run() are
// in the order of the memory that they use, most memory stays in the cache of one core.
class ThreadPool {
 public:
  // `threads` includes the calling thread, so 1 starts no additional thread.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Number of threads in use, including the calling thread.
  int size() const { return static_cast<int>(workers_.size()) + 1; }
  // Number of threads that was passed to the constructor.
  int capacity() const { return capacity_; }
  // Sets the number of threads to use, at most capacity(). Call this rarely, because it ends and
  // starts threads. Do not call it from a task.
  void resize(int threads);

  // Calls body(0) ... body(tasks - 1), each once, and returns when all calls are done. Rethrows an
  // exception from `body`. Not reentrant.
  template <class Body>
  void run(int64_t tasks, const Body& body) {
    if (tasks <= 1 || workers_.empty()) {
      for (int64_t i = 0; i < tasks; ++i) body(i);
      return;
    }
    run_shared(
        tasks, [](const void* b, int64_t i) { (*static_cast<const Body*>(b))(i); }, &body);
  }

 private:
  using Call = void (*)(const void* body, int64_t task);
  void run_shared(int64_t tasks, Call call, const void* body);
  void start_workers(int threads);
  void stop_workers();
  void work(size_t thread);
  void worker_loop(size_t thread, uint32_t seen_job);

  struct Shared;
  int capacity_;
  std::unique_ptr<Shared> shared_;
  std::vector<std::thread> workers_;
};

// Runs the tasks on `pool`, or on the calling thread if `pool` is null.
template <class Body>
void run_tasks(ThreadPool* pool, int64_t tasks, const Body& body) {
  if (pool != nullptr) {
    pool->run(tasks, body);
  } else {
    for (int64_t i = 0; i < tasks; ++i) body(i);
  }
}

// The number of cores that this process may use.
int available_cores();

}  // namespace rl_training
