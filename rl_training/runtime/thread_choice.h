#pragma once
#include <functional>
#include <vector>

#include "rl_training/util/thread_pool.h"

namespace rl_training {

// Finds the number of threads with which updates are fastest (`threads: 0`). It times the first
// updates after each start with 1, 2, 4, ... and all threads of the pool in turn. Small networks
// are often faster on one thread, and large networks do not benefit from all cores of a large
// machine. Results do not depend on the number of threads, so the choice affects only speed and is
// not part of the state.
class ThreadChoice {
 public:
  using Clock = std::function<double()>;  // seconds

  static double steady_seconds();

  // `pool` is not owned. If it is null, the number of threads is fixed and the other functions do
  // nothing.
  explicit ThreadChoice(ThreadPool* pool, Clock clock = steady_seconds);

  // Call these functions before and after each update.
  void begin_update();
  void end_update();
  // Uses all threads until the next update. An evaluation calls this function, because its
  // environments benefit from every core.
  void use_all();

 private:
  // A number of threads and its measured speed. A turn is a series of updates that measures one
  // candidate.
  struct Candidate {
    int threads = 1;
    double seconds = 0.0;  // per update, in the fastest turn; 0 before the first turn
  };

  bool measuring() const { return turn_ < turns_; }
  void end_turn(double seconds_per_update);
  void choose();

  ThreadPool* pool_;
  Clock clock_;
  std::vector<Candidate> candidates_;
  size_t turns_ = 0, turn_ = 0;
  int64_t updates_ = 0;  // in the current turn; the first update starts threads and is not timed
  double begin_ = 0.0, seconds_ = 0.0;
  int chosen_ = 1;
};

}  // namespace rl_training
