#include "rl_training/sweep/seeds.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr size_t kMostSeeds = 10000;

std::optional<int64_t> parse_seed(std::string_view text) {
  int64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && seed >= 0 ? std::optional(seed) : std::nullopt;
}

}  // namespace

std::vector<int64_t> parse_seeds(const std::string& text, const std::string& key) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::config, {"", 0, key}, what);
  };
  std::vector<int64_t> seeds;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    part.erase(std::remove(part.begin(), part.end(), ' '), part.end());
    const auto dash = part.find('-');
    const auto first = parse_seed(std::string_view(part).substr(0, dash));
    const auto last =
        dash == std::string::npos ? first : parse_seed(std::string_view(part).substr(dash + 1));
    if (!first || !last || *last < *first) {
      fail("not a seed or a range of seeds (expected for example 0-9 or 0,1,2, got " + part + ")");
    }
    if (static_cast<uint64_t>(*last - *first) >= kMostSeeds - seeds.size()) {
      fail("too many seeds (expected at most " + std::to_string(kMostSeeds) + ")");
    }
    for (int64_t seed = *first; seed <= *last; ++seed) {
      if (std::find(seeds.begin(), seeds.end(), seed) != seeds.end()) {
        fail("seed " + std::to_string(seed) + " occurs twice (expected each seed once)");
      }
      seeds.push_back(seed);
    }
  }
  if (seeds.empty()) fail("no seeds (expected for example 0-9 or 0,1,2)");
  return seeds;
}

}  // namespace rl_training
