#include "rl_training/sweep/search_space.h"

#include <fmt/format.h>

#include <cmath>

#include "rl_training/util/options.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr size_t kMostPoints = 100000;

void require_map(const ConfigNode& map, const std::string& path) {
  if (map.kind == ConfigNode::Kind::map && !map.entries.empty()) return;
  map.fail(path,
           "no keys (expected for example learning_rate: [1e-4, 3e-4], got " + map.shown() + ")");
}

std::vector<ConfigNode> read_choices(const ConfigNode& node, const std::string& path) {
  if (node.kind != ConfigNode::Kind::list || node.items.empty()) {
    node.fail(path,
              "not a list of values (expected for example [1e-4, 3e-4], got " + node.shown() + ")");
  }
  return node.items;
}

// Reads the bounds [low, high] of a distribution.
void read_bounds(const ConfigNode& node, const std::string& path, SearchKey& key) {
  std::vector<double> bounds;
  auto map = ConfigNode::map();
  map.set("bounds", node);
  const auto fail = [&](const std::string& what) {
    node.fail(path, what + " (expected [low, high] with low < high" +
                        (key.kind == SearchKey::Kind::log_uniform ? " and low > 0" : "") +
                        (key.kind == SearchKey::Kind::integer ? ", whole numbers" : "") + ", got " +
                        node.shown() + ")");
  };
  if (node.kind != ConfigNode::Kind::list || node.items.size() != 2) fail("not a pair of bounds");
  OptionReader(map, path).numbers("bounds", bounds, any_number(), "");
  key.low = bounds[0];
  key.high = bounds[1];
  if (!(key.low < key.high)) fail("not a range");
  if (key.kind == SearchKey::Kind::log_uniform && key.low <= 0) fail("not above 0");
  const bool whole = std::floor(key.low) == key.low && std::floor(key.high) == key.high;
  if (key.kind == SearchKey::Kind::integer && !whole) fail("not whole numbers");
}

ConfigNode number_node(const std::string& text) { return ConfigNode::scalar(text); }

}  // namespace

ConfigNode SearchKey::draw(Rng& rng) const {
  switch (kind) {
    case Kind::uniform:
      return number_node(fmt::format("{}", rng.uniform(low, high)));
    case Kind::log_uniform:
      return number_node(fmt::format("{}", std::exp(rng.uniform(std::log(low), std::log(high)))));
    case Kind::integer: {
      const auto count = static_cast<uint64_t>(high - low) + 1;
      return number_node(
          fmt::format("{}", static_cast<int64_t>(low) + static_cast<int64_t>(rng.below(count))));
    }
    case Kind::choice:
      break;
  }
  return choices[rng.below(choices.size())];
}

std::vector<SearchKey> read_grid(const ConfigNode& map, const std::string& path) {
  require_map(map, path);
  std::vector<SearchKey> keys;
  for (const auto& [name, node] : map.entries) {
    SearchKey key;
    key.key = name;
    key.choices = read_choices(node, path + "." + name);
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<SearchKey> read_distributions(const ConfigNode& map, const std::string& path) {
  static const std::vector<std::string> names = {"choice", "uniform", "log_uniform", "int"};
  require_map(map, path);
  std::vector<SearchKey> keys;
  for (const auto& [name, node] : map.entries) {
    const auto where = path + "." + name;
    SearchKey key;
    key.key = name;
    if (node.kind == ConfigNode::Kind::list) {
      key.choices = read_choices(node, where);
      keys.push_back(std::move(key));
      continue;
    }
    if (node.kind != ConfigNode::Kind::map || node.entries.size() != 1) {
      node.fail(where,
                "not a distribution (expected for example {log_uniform: [1e-5, 1e-2]}, got " +
                    node.shown() + ")");
    }
    const auto& [kind, value] = node.entries.front();
    if (kind == "choice") {
      key.choices = read_choices(value, where + ".choice");
    } else if (kind == "uniform" || kind == "log_uniform" || kind == "int") {
      key.kind = kind == "uniform"       ? SearchKey::Kind::uniform
                 : kind == "log_uniform" ? SearchKey::Kind::log_uniform
                                         : SearchKey::Kind::integer;
      read_bounds(value, where + "." + kind, key);
    } else {
      node.fail(where, "unknown distribution (expected " + join(names, " | ") + ", got " + kind +
                           did_you_mean(kind, names) + ")");
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<Settings> grid_points(const std::vector<SearchKey>& keys) {
  std::vector<Settings> points = {{}};
  for (const auto& key : keys) {
    if (points.size() * key.choices.size() > kMostPoints) {
      key.choices.front().fail("grid." + key.key, fmt::format("more than {} points", kMostPoints));
    }
    std::vector<Settings> longer;
    for (const auto& point : points) {
      for (const auto& value : key.choices) {
        longer.push_back(point);
        longer.back().emplace_back(key.key, value);
      }
    }
    points = std::move(longer);
  }
  return points;
}

std::vector<Settings> random_points(const std::vector<SearchKey>& keys, int64_t count,
                                    uint64_t seed) {
  std::vector<Settings> points(static_cast<size_t>(count));
  for (size_t i = 0; i < points.size(); ++i) {
    for (const auto& key : keys) {
      Rng rng(seed, fmt::format("sweep/{}/{}", i, key.key));
      points[i].emplace_back(key.key, key.draw(rng));
    }
  }
  return points;
}

}  // namespace rl_training
