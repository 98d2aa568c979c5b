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

// A thread without a job waits until `job` changes. The caller of run() waits until all tasks are
// done, but never for a thread that has not claimed a task. A thread that wakes up after the job
// has ended finds no unclaimed task.
struct ThreadPool::Shared {
  // Consecutive tasks that one thread runs before all others.
  struct alignas(64) Share {
    // The upper half is the number of the job. The lower half is the number of tasks that no thread
    // has claimed yet. A thread claims a task by decrementing the ticket.
    std::atomic<uint64_t> ticket{0};
  };
  std::vector<Share> shares;  // one for each thread; the first is that of the caller
  alignas(64) std::atomic<uint32_t> job{0};
  alignas(64) std::atomic<int64_t> done{0};
  std::atomic<bool> stop{false};
  int64_t tasks = 0;
  Call call = nullptr;
  const void* body = nullptr;
  std::mutex error_mutex;
  std::exception_ptr error;

  // The first task of a share. With fewer tasks than threads, the last shares are empty.
  int64_t first_of(size_t share) const {
    const auto used = std::min(static_cast<int64_t>(shares.size()), tasks);
    return std::min(static_cast<int64_t>(share), used) * tasks / used;
  }
  // Claims a task of a share, or returns -1 if none is left. The members that describe the job may
  // be read only after a claim: they are constant until all claimed tasks are done.
  int64_t claim(size_t share);
  void run_task(int64_t task);
};

namespace {

constexpr uint64_t kLeft = 0xffffffff;

}  // namespace

int64_t ThreadPool::Shared::claim(size_t share) {
  auto& word = shares[share].ticket;
  uint64_t ticket = word.load(std::memory_order_acquire);
  while ((ticket & kLeft) != 0) {
    if (!word.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) continue;
    return first_of(share + 1) - static_cast<int64_t>(ticket & kLeft);
  }
  return -1;
}

void ThreadPool::Shared::run_task(int64_t task) {
  try {
    call(body, task);
  } catch (...) {
    const std::lock_guard lock(error_mutex);
    if (!error) error = std::current_exception();
  }
  done.fetch_add(1, std::memory_order_acq_rel);
}

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
  shared_->shares = std::vector<Shared::Share>(static_cast<size_t>(threads));
  const BlockedSignals blocked;  // the threads inherit the mask, so they never run a handler
  for (int i = 1; i < threads; ++i) {
    workers_.emplace_back(
        [this, i, job = shared_->job.load()] { worker_loop(static_cast<size_t>(i), job); });
  }
}

void ThreadPool::stop_workers() {
  shared_->stop.store(true);
  shared_->job.fetch_add(1);
  shared_->job.notify_all();
  for (auto& worker : workers_) worker.join();
  workers_.clear();
  shared_->stop.store(false);
}

// Claims and runs tasks until no unclaimed task is left, first those of the thread's own share.
void ThreadPool::work(size_t thread) {
  const size_t threads = shared_->shares.size();
  for (size_t i = 0; i < threads; ++i) {
    const size_t share = (thread + i) % threads;
    for (int64_t task; (task = shared_->claim(share)) >= 0;) shared_->run_task(task);
  }
}

void ThreadPool::worker_loop(size_t thread, uint32_t seen_job) {
  int spins = 0;
  for (;;) {
    const uint32_t job = shared_->job.load(std::memory_order_acquire);
    if (shared_->stop.load(std::memory_order_relaxed)) return;
    if (job != seen_job) {
      seen_job = job;
      work(thread);
      spins = 0;
    } else if (++spins < kSpins) {
      pause_core();
    } else {
      shared_->job.wait(job, std::memory_order_acquire);
      spins = 0;
    }
  }
}

void ThreadPool::run_shared(int64_t tasks, Call call, const void* body) {
  shared_->tasks = tasks;
  shared_->call = call;
  shared_->body = body;
  shared_->done.store(0, std::memory_order_relaxed);
  const uint32_t job = shared_->job.load(std::memory_order_relaxed) + 1;
  for (size_t share = 0; share < shared_->shares.size(); ++share) {
    const int64_t size = shared_->first_of(share + 1) - shared_->first_of(share);
    const uint64_t ticket = uint64_t{job} << 32 | static_cast<uint64_t>(size);
    shared_->shares[share].ticket.store(ticket, std::memory_order_release);
  }
  shared_->job.store(job, std::memory_order_release);
  shared_->job.notify_all();
  work(0);
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
