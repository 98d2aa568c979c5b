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

// The values of one key of a search: a list, or a distribution to draw from.
struct SearchKey {
  enum class Kind { choice, uniform, log_uniform, integer };

  std::string key;
  Kind kind = Kind::choice;
  std::vector<ConfigNode> choices;
  double low = 0, high = 0;  // inclusive

  ConfigNode draw(Rng& rng) const;
};

// A map of keys with lists: `learning_rate: [1e-4, 3e-4]`. Error{config} with `path` and key.
std::vector<SearchKey> read_grid(const ConfigNode& map, const std::string& path);
// A map of keys with distributions: {uniform: [a, b]}, {log_uniform: [a, b]}, {int: [a, b]},
// {choice: [...]} or a plain list.
std::vector<SearchKey> read_distributions(const ConfigNode& map, const std::string& path);

// Every combination of the lists; the last key changes fastest.
std::vector<Settings> grid_points(const std::vector<SearchKey>& keys);
// Points drawn from the distributions. A value depends only on the seed, its number and its key, so
// adding points or keys does not change the others.
std::vector<Settings> random_points(const std::vector<SearchKey>& keys, int64_t count,
                                    uint64_t seed);

}  // namespace rl_training
