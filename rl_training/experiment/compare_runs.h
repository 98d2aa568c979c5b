#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace rl_training {

// Comparison of two runs that should be equal.
struct RunComparison {
  int64_t step = 0;  // step of the first run's newest checkpoint
  int64_t arrays = 0, values = 0, rows = 0;
  std::vector<std::string> differences;  // one line each; empty if the runs are equal byte for byte

  bool equal() const { return differences.empty(); }
};

// Compares the newest and best checkpoints (every array and file) and the logged metrics. In all of
// these, a resumed run must equal an uninterrupted one (docs/run_directory.md).
RunComparison compare_runs(const std::string& first, const std::string& second);

}  // namespace rl_training
