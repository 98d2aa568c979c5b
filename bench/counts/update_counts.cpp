// Runs updates of a few algorithms on one thread, so that valgrind can count their instructions
// (`make bench-check`). Prints "NAME UPDATES" for each repetition. Callgrind writes one file per
// repetition, in the same order.
#include <valgrind/callgrind.h>

#include <iostream>

#include "bench/contenders.h"
#include "rl_training/runtime/session.h"

int main() {
  using namespace rl_training;
  constexpr int64_t kUpdates = 4;
  constexpr int kTurns = 3;
  const Session session(Session::Process::owner);
  CALLGRIND_START_INSTRUMENTATION;  // the counts exclude LibTorch's start-up
  for (const char* name : {"td3_bc", "iql", "cql", "rebrac", "sac"}) {
    BenchWork work(name);
    work.options->hidden_sizes = {64, 64};
    work.options->batch_size = 64;
    const auto ours = make_ours(work, 1);
    ours->seconds_for(2);  // warm-up: fills buffers and builds kernels
    for (int turn = 0; turn < kTurns; ++turn) {
      CALLGRIND_ZERO_STATS;
      ours->seconds_for(kUpdates);
      CALLGRIND_DUMP_STATS_AT(name);
      std::cout << name << " " << kUpdates << std::endl;
    }
  }
}
