#include "bench/scaling_model.h"

#include <algorithm>

namespace rl_training {

double ScalingFigures::exchange_seconds(int processes) const {
  if (processes == 1) return 0;
  const double others = processes - 1, bytes = 4 * values;
  if (processes < 4) return others * (exchanges * latency + bytes * byte_seconds);
  // First, the processes send each part of the values to the process that owns it. These messages
  // are concurrent, so their latency counts once. Then a ring distributes the sums, with one
  // latency per step.
  return exchanges * latency * (1 + others) + 2 * bytes * byte_seconds * others / processes;
}

double ScalingFigures::weak_efficiency(int processes) const {
  const double compute = update_seconds(batch_rows);
  return compute / (compute + exchange_seconds(processes));
}

double ScalingFigures::strong_efficiency(int processes) const {
  const double each = update_seconds(batch_rows / processes) + exchange_seconds(processes);
  return update_seconds(batch_rows) / (processes * each);
}

double ScalingFigures::sweep_efficiency(int runs, int cores, double run_seconds) const {
  const int used = std::min(runs, cores);
  const int turns = (runs + used - 1) / used;
  return runs * run_seconds / (static_cast<double>(cores) * turns * (run_seconds + start_seconds));
}

}  // namespace rl_training
