#pragma once
#include <optional>
#include <string>

namespace rl_training {

// Properties of the network between the processes. A property that is not set is measured on this
// machine's loopback.
struct NetworkFigures {
  std::optional<double> latency_us, bandwidth_mbit;
};

// Measures the time of an update and of an exchange between processes on this machine. From these
// times, predicts the efficiency of one run on 1 to 512 processes, and of sweeps of 1 to 10,000
// runs.
void run_scaling_model(const std::string& algo, int64_t rounds, const NetworkFigures& network,
                       bool json);

}  // namespace rl_training
