#include "rl_training/data/best_episodes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rl_training/util/error.h"

namespace rl_training {

TransitionDataset keep_best_episodes(const TransitionDataset& dataset, double fraction,
                                     double gamma) {
  if (!(fraction > 0 && fraction <= 1)) {
    throw Error(
        ErrorKind::config, {"", 0, "dataset_top_fraction"},
        "out of range (expected a number > 0 and <= 1, got " + std::to_string(fraction) + ")");
  }
  const auto episodes = static_cast<int64_t>(dataset.episodes().size());
  if (fraction == 1 || episodes == 0) return dataset;
  std::vector<double> returns;
  for (int64_t i = 0; i < episodes; ++i) returns.push_back(dataset.episode_return(i, gamma));
  std::vector<int64_t> order(static_cast<size_t>(episodes));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return returns[static_cast<size_t>(a)] > returns[static_cast<size_t>(b)];
  });
  // The small addend compensates for rounding errors: 0.29 * 100 evaluates to slightly below 29.
  const auto kept = std::floor(fraction * static_cast<double>(episodes) + 1e-9);
  order.resize(static_cast<size_t>(std::max(kept, 1.0)));
  std::sort(order.begin(), order.end());
  return dataset.with_episodes(order);
}

}  // namespace rl_training
