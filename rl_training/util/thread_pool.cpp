#include "rl_training/util/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "rl_training/util/blocked_signals.h"

namespace rl_training {
namespace {

// A thread without work spins for about 50 microseconds before it sleeps. During training, jobs
// (calls to run()) follow each other closely, and waking a thread takes as long as a job.
constexpr int kSpins = 4000;

inline void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

// The upper half of `ticket` is the number of the job. The lower half is the number of tasks that
// no thread has claimed yet. A thread claims a task by decrementing the ticket. The caller waits
// until all claimed tasks are done, but never for a thread that has not claimed a task. A thread
// that wakes up after the job has ended finds no unclaimed task.
struct ThreadPool::Shared {
  alignas(64) std::atomic<uint64_t> ticket{0};
  alignas(64) std::atomic<int64_t> done{0};
  std::atomic<bool> stop{false};
  int64_t tasks = 0;
  Call call = nullptr;
  const void* body = nullptr;
  std::mutex error_mutex;
  std::exception_ptr error;
};

namespace {

constexpr uint64_t kLeft = 0xffffffff;

}  // namespace

ThreadPool::ThreadPool(int threads)
    : capacity_(std::max(1, threads)), shared_(std::make_unique<Shared>()) {
  start_workers(capacity_);
}

ThreadPool::~ThreadPool() { stop_workers(); }

void ThreadPool::resize(int threads) {
  threads = std::clamp(threads, 1, capacity_);
  if (threads == size()) return;
  stop_workers();
  start_workers(threads);
}

void ThreadPool::start_workers(int threads) {
  const BlockedSignals blocked;  // the threads inherit the mask, so they never run a handler
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { worker_loop(); });
}

void ThreadPool::stop_workers() {
  shared_->stop.store(true);
  shared_->ticket.fetch_add(kLeft + 1);
  shared_->ticket.notify_all();
  for (auto& worker : workers_) worker.join();
  workers_.clear();
  shared_->stop.store(false);
}

// Claims and runs tasks until no unclaimed task is left.
void ThreadPool::work() {
  uint64_t ticket = shared_->ticket.load(std::memory_order_acquire);
  while ((ticket & kLeft) != 0) {
    if (!shared_->ticket.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) {
      continue;
    }
    const int64_t task = shared_->tasks - static_cast<int64_t>(ticket & kLeft);
    try {
      shared_->call(shared_->body, task);
    } catch (...) {
      const std::lock_guard lock(shared_->error_mutex);
      if (!shared_->error) shared_->error = std::current_exception();
    }
    shared_->done.fetch_add(1, std::memory_order_acq_rel);
    ticket = shared_->ticket.load(std::memory_order_acquire);
  }
}

void ThreadPool::worker_loop() {
  int spins = 0;
  for (;;) {
    const uint64_t ticket = shared_->ticket.load(std::memory_order_acquire);
    if (shared_->stop.load(std::memory_order_relaxed)) return;
    if ((ticket & kLeft) != 0) {
      work();
      spins = 0;
    } else if (++spins < kSpins) {
      pause_core();
    } else {
      shared_->ticket.wait(ticket, std::memory_order_acquire);
      spins = 0;
    }
  }
}

void ThreadPool::run_shared(int64_t tasks, Call call, const void* body) {
  shared_->tasks = tasks;
  shared_->call = call;
  shared_->body = body;
  shared_->done.store(0, std::memory_order_relaxed);
  const uint64_t job = (shared_->ticket.load(std::memory_order_relaxed) | kLeft) + 1;
  shared_->ticket.store(job | static_cast<uint64_t>(tasks), std::memory_order_release);
  shared_->ticket.notify_all();
  work();
  for (int spins = 0; shared_->done.load(std::memory_order_acquire) != tasks;) {
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
