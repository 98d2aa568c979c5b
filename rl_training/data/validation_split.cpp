#include "rl_training/data/validation_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rl_training/util/error.h"
#include "rl_training/util/rng.h"

namespace rl_training {

void ValidationOptions::visit_options(OptionVisitor& options) {
  options.number("fraction", fraction, strictly_between(0, 1), "share of the episodes to hold out");
  options.integer("episodes", episodes, at_least(1),
                  "number of episodes to hold out, instead of a fraction");
  options.integer("seed", seed, at_least(0), "seed that selects them");
}

EpisodeSplit split_episodes(int64_t episodes, const ValidationOptions& options) {
  const auto share =
      static_cast<int64_t>(std::llround(options.fraction * static_cast<double>(episodes)));
  const int64_t count = options.episodes.value_or(std::max<int64_t>(1, share));
  if (count >= episodes) {
    throw Error(ErrorKind::config, {"", 0, "validation"},
                "no episodes would remain for training (expected a dataset of more than " +
                    std::to_string(count) + ", got " + std::to_string(episodes) + ")");
  }
  std::vector<int64_t> order(static_cast<size_t>(episodes));
  std::iota(order.begin(), order.end(), 0);
  Rng rng(static_cast<uint64_t>(options.seed), "validation");
  // Partial Fisher-Yates shuffle: only the first `count` entries are drawn.
  for (int64_t i = 0; i < count; ++i) {
    const auto other = i + static_cast<int64_t>(rng.below(static_cast<uint64_t>(episodes - i)));
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(other)]);
  }
  EpisodeSplit split;
  split.held_out.assign(order.begin(), order.begin() + count);
  split.training.assign(order.begin() + count, order.end());
  std::sort(split.held_out.begin(), split.held_out.end());
  std::sort(split.training.begin(), split.training.end());
  return split;
}

}  // namespace rl_training
