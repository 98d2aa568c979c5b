#pragma once
#include <string>
#include <utility>
#include <vector>

#include "rl_training/util/config_node.h"
#include "rl_training/util/rng.h"

namespace rl_training {

// A config key with its value.
using Setting = std::pair<std::string, ConfigNode>;
using Settings = std::vector<Setting>;

// The values of one key in a search: a list, or a distribution.
struct SearchKey {
  enum class Kind { choice, uniform, log_uniform, integer };

  std::string key;
  Kind kind = Kind::choice;
  std::vector<ConfigNode> choices;
  double low = 0, high = 0;  // bounds; `high` is inclusive only for integers

  ConfigNode draw(Rng& rng) const;
};

// Reads a map from keys to lists: `learning_rate: [1e-4, 3e-4]`. If a value is not a valid list,
// throws Error{config} with `path` and the key.
std::vector<SearchKey> read_grid(const ConfigNode& map, const std::string& path);
// Reads a map from keys to distributions: {uniform: [a, b]}, {log_uniform: [a, b]}, {int: [a, b]},
// {choice: [...]} or a plain list.
std::vector<SearchKey> read_distributions(const ConfigNode& map, const std::string& path);

// All combinations of the lists. The last key changes fastest.
std::vector<Settings> grid_points(const std::vector<SearchKey>& keys);
// Points drawn from the distributions. A value depends only on the seed, the number of the point
// and the key. Adding points or keys therefore does not change the other values.
std::vector<Settings> random_points(const std::vector<SearchKey>& keys, int64_t count,
                                    uint64_t seed);

}  // namespace rl_training
