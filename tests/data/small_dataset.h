#pragma once
#include <array>
#include <utility>

#include "rl_training/data/dataset_builder.h"

namespace rl_training {

// Two episodes with 3 and 2 rows. Observations have two entries, and actions have one. Row r has
// the action r / 10 and the reward r + 1. The first episode terminates, and the second is
// truncated.
inline DatasetBuilder small_builder() {
  DatasetBuilder builder(2, 1);
  int row = 0;
  const auto episode = [&](float tag, int steps, bool terminates) {
    builder.begin_episode(std::array{tag, 0.0f});
    for (int t = 1; t <= steps; ++t, ++row) {
      const bool last = t == steps;
      builder.add(std::array{static_cast<float>(row) / 10}, static_cast<float>(row + 1),
                  std::array{tag, static_cast<float>(t)}, last && terminates, last && !terminates);
    }
  };
  episode(100, 3, true);
  episode(200, 2, false);
  return builder;
}

inline TransitionDataset small_dataset() { return small_builder().build(); }

}  // namespace rl_training
