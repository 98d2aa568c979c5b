#include "rl_training/util/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

namespace rl_training {
namespace {

// About 50 microseconds of looking before a thread goes to sleep: jobs follow each other closely
// during training, and waking a sleeping thread costs as much as a job.
constexpr int kSpins = 4000;

inline void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

struct ThreadPool::Shared {
  alignas(64) std::atomic<uint64_t> generation{0};  // grows by one for each job
  alignas(64) std::atomic<int64_t> next_task{0};
  alignas(64) std::atomic<int> busy{0};  // workers that have not yet left the current job
  std::atomic<bool> stop{false};
  int64_t tasks = 0;
  Call call = nullptr;
  const void* body = nullptr;
  std::mutex error_mutex;
  std::exception_ptr error;
};

ThreadPool::ThreadPool(int threads) : shared_(std::make_unique<Shared>()) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { worker_loop(); });
}

ThreadPool::~ThreadPool() {
  shared_->stop.store(true);
  shared_->generation.fetch_add(1);
  shared_->generation.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::work() {
  for (;;) {
    const int64_t task = shared_->next_task.fetch_add(1, std::memory_order_relaxed);
    if (task >= shared_->tasks) return;
    try {
      shared_->call(shared_->body, task);
    } catch (...) {
      const std::lock_guard lock(shared_->error_mutex);
      if (!shared_->error) shared_->error = std::current_exception();
    }
  }
}

void ThreadPool::worker_loop() {
  uint64_t seen = 0;
  for (;;) {
    int spins = 0;
    while (shared_->generation.load(std::memory_order_acquire) == seen) {
      if (++spins < kSpins) {
        pause_core();
      } else {
        shared_->generation.wait(seen, std::memory_order_acquire);
      }
    }
    ++seen;
    if (shared_->stop.load()) return;
    work();
    shared_->busy.fetch_sub(1, std::memory_order_release);
  }
}

void ThreadPool::run_shared(int64_t tasks, Call call, const void* body) {
  shared_->tasks = tasks;
  shared_->call = call;
  shared_->body = body;
  shared_->next_task.store(0, std::memory_order_relaxed);
  shared_->busy.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  shared_->generation.fetch_add(1, std::memory_order_release);
  shared_->generation.notify_all();
  work();
  int spins = 0;
  while (shared_->busy.load(std::memory_order_acquire) != 0) {
    if (++spins < kSpins) {
      pause_core();
    } else {
      std::this_thread::yield();
    }
  }
  if (shared_->error) std::rethrow_exception(std::exchange(shared_->error, nullptr));
}

int available_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace rl_training
