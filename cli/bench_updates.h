#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rl_training {

struct UpdateBench {
  std::string algo;                // a name or "all"; empty: compares TD3+BC with hardware limits
  std::vector<int64_t> hidden;     // empty: the algorithm's default
  std::vector<std::string> peers;  // commands that start the peers
  int threads = 1;                 // with `algo`: largest number of threads per contender
  int64_t rounds = 5;
  std::optional<int64_t> updates = {};  // updates per interval of measurement
};

// `bench`: measures updates per second and compares them with hardware limits and with peers, which
// are other implementations of the same algorithm. All contenders run alternately.
void run_update_bench(const UpdateBench& bench, bool json);

}  // namespace rl_training
