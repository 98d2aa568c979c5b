#include "rl_training/util/process_group.h"

#include <cstring>

#include "rl_training/util/rng.h"

namespace rl_training {

std::vector<double> sum_over(ProcessGroup* group, std::vector<double> values) {
  if (group == nullptr || values.empty()) return values;
  const size_t bytes = values.size() * sizeof(double);
  const auto texts = group->exchange({reinterpret_cast<const char*>(values.data()), bytes});
  std::vector<double> sums(values.size(), 0.0), theirs(values.size());
  for (const auto& text : texts) {
    std::memcpy(theirs.data(), text.data(), bytes);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += theirs[i];
  }
  return sums;
}

uint64_t seed_of_process(uint64_t seed, int rank) {
  return rank == 0 ? seed : Rng(seed, "process/" + std::to_string(rank)).next();
}

}  // namespace rl_training
