#pragma once
#include <optional>
#include <string>

namespace rl_training {

// A network other than this machine's loopback.
struct NetworkFigures {
  std::optional<double> latency_us, bandwidth_mbit;
};

// Measures an update and an exchange between processes on this machine, and predicts from these how
// efficiently 1 to 512 processes train one run, and how efficiently cores are used by 1 to 10,000
// runs of a sweep.
void run_scaling_model(const std::string& algo, int64_t rounds, const NetworkFigures& network,
                       bool json);

}  // namespace rl_training
