#pragma once
#include <cstdint>

namespace rl_training {

inline constexpr int kModelProcesses[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
inline constexpr int kModelRuns[] = {1, 10, 100, 1000, 10000};
inline constexpr int kModelCores[] = {2, 16, 64, 512};

// Measured costs of an update and of an exchange between processes. The functions predict the
// efficiency of many processes or many runs from these costs. The model assumes that processes
// share neither cores nor network links.
struct ScalingFigures {
  int64_t batch_rows = 0;                     // default batch size of the algorithm
  double fixed_seconds = 0, row_seconds = 0;  // an update takes fixed_seconds + rows * row_seconds
  double exchanges = 0, values = 0;      // messages per update, and floats in all of them together
  double latency = 0, byte_seconds = 0;  // a message takes latency + bytes * byte_seconds
  double start_seconds = 0;              // start-up time of the program

  double update_seconds(int64_t rows) const {
    return fixed_seconds + row_seconds * static_cast<double>(rows);
  }
  // Time to average the gradients of one update, as in rl_training/parallel/gloo_group.cpp. Two or
  // three processes form a ring that passes on all values. With more processes, each process owns
  // one part of the values: the others send this part directly to its owner, which sums it. A ring
  // then passes on the sums.
  double exchange_seconds(int processes) const;
  // Weak scaling: every process has the full batch. Returns the update rate of a process relative
  // to that of a process that runs alone.
  double weak_efficiency(int processes) const;
  // Strong scaling: all processes share one batch.
  double strong_efficiency(int processes) const;
  // The share of the cores' time that is spent on training. Each run uses one core.
  double sweep_efficiency(int runs, int cores, double run_seconds) const;
};

}  // namespace rl_training
