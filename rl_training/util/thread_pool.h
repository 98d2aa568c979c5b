#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace rl_training {

// Threads that share numbered tasks of about ten microseconds each. Which thread runs a task is not
// fixed, so a task must write only to its own memory, and sums over tasks are formed afterwards in
// task order. Results then do not depend on the number of threads.
class ThreadPool {
 public:
  // `threads` includes the calling thread; 1 starts none.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Threads in use, including the calling one.
  int size() const { return static_cast<int>(workers_.size()) + 1; }
  // Threads given to the constructor.
  int capacity() const { return capacity_; }
  // Uses that many threads from now on, at most capacity(). Ends and starts threads, so it is meant
  // for rare changes. Must not be called from a task.
  void resize(int threads);

  // Calls body(0) ... body(tasks - 1), each once, and returns when all are done. Not reentrant;
  // an exception of a body is rethrown here.
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
  void work();
  void worker_loop();

  struct Shared;
  int capacity_;
  std::unique_ptr<Shared> shared_;
  std::vector<std::thread> workers_;
};

// The number of cores this process may use.
int available_cores();

}  // namespace rl_training
