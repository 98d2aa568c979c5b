#pragma once
#include <cstdint>

namespace rl_training {

inline constexpr int kModelProcesses[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
inline constexpr int kModelRuns[] = {1, 10, 100, 1000, 10000};
inline constexpr int kModelCores[] = {2, 16, 64, 512};

// What an update and an exchange cost, measured, and what follows from it for many of them. The
// model knows nothing of cores or links that processes share.
struct ScalingFigures {
  int64_t batch_rows = 0;                     // of the algorithm's default batch
  double fixed_seconds = 0, row_seconds = 0;  // an update: fixed + rows * row
  double exchanges = 0, values = 0;           // in an update: messages, floats in all of them
  double latency = 0, byte_seconds = 0;       // a message: latency + bytes * byte
  double start_seconds = 0;                   // of the program

  double update_seconds(int64_t rows) const {
    return fixed_seconds + row_seconds * static_cast<double>(rows);
  }
  // The averages of one update over `processes` (rl_training/parallel/gloo_group.cpp). Few: a ring
  // that hands on everything. Many: parts to their owners at once, then a ring that hands on the
  // sums.
  double exchange_seconds(int processes) const;
  // As many rows in each process as one alone has: the share of its rate that each keeps.
  double weak_efficiency(int processes) const;
  // One batch shared by all of them.
  double strong_efficiency(int processes) const;
  // Runs on a core each: the share of the cores' time that is spent on training.
  double sweep_efficiency(int runs, int cores, double run_seconds) const;
};

}  // namespace rl_training
