#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rl_training {

struct UpdateBench {
  std::string algo;                // a name or "all"; empty: TD3+BC compared with limits
  std::vector<int64_t> hidden;     // empty: the algorithm's default
  std::vector<std::string> peers;  // commands
  int threads = 1;                 // with `algo`: largest number per contender
  int64_t rounds = 5;
  std::optional<int64_t> updates = {};  // per turn
};

// `bench`: updates per second, compared with limits and peers, measured in turns.
void run_update_bench(const UpdateBench& bench, bool json);

}  // namespace rl_training
