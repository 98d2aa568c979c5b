#include "rl_training/data/mixing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "rl_training/data/dataset_builder.h"
#include "rl_training/util/error.h"
#include "rl_training/util/rng.h"

namespace rl_training {
namespace {

void check_parts(std::span<const DatasetPart> parts, int64_t size) {
  const ErrorPlace place = {"", 0, "dataset_mix"};
  if (parts.empty()) throw Error(ErrorKind::config, place, "nothing to mix");
  if (size < 0) throw Error(ErrorKind::config, {"", 0, "dataset_mix_size"}, "below 0");
  const auto name_of = [&](size_t i) {
    return parts[i].name.empty() ? "part " + std::to_string(i) : parts[i].name;
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& part = parts[i];
    const std::string name = name_of(i);
    if (!std::isfinite(part.weight) || part.weight <= 0) {
      throw Error(ErrorKind::config, place, name + " has a bad weight (expected > 0)");
    }
    if (part.dataset.rows() == 0) throw Error(ErrorKind::data, place, name + " has no rows");
    const auto& first = parts[0].dataset;
    if (part.dataset.obs_space() != first.obs_space() ||
        part.dataset.action_space() != first.action_space()) {
      throw Error(ErrorKind::data, place,
                  name + " has other observations or actions than " + name_of(0) + " (expected " +
                      first.obs_space().text() + " and " + first.action_space().text() + ", got " +
                      part.dataset.obs_space().text() + " and " +
                      part.dataset.action_space().text() + ")");
    }
  }
}

// Number of rows of each part. Exact shares are rounded down; the parts with the largest remainders
// then get one more row each until the sum is `size`.
std::vector<int64_t> shares(std::span<const DatasetPart> parts, int64_t size) {
  double total = 0;
  for (const auto& part : parts) total += part.weight;
  std::vector<int64_t> rows;
  std::vector<std::pair<double, size_t>> remainders;
  for (size_t i = 0; i < parts.size(); ++i) {
    const double exact = static_cast<double>(size) * (parts[i].weight / total);
    rows.push_back(static_cast<int64_t>(exact));
    remainders.emplace_back(-(exact - std::floor(exact)), i);
  }
  std::sort(remainders.begin(), remainders.end());
  int64_t missing = size - std::accumulate(rows.begin(), rows.end(), int64_t{0});
  for (size_t i = 0; missing > 0; i = (i + 1) % remainders.size(), --missing) {
    ++rows[remainders[i].second];
  }
  return rows;
}

class Mixer {
 public:
  Mixer(const Space& obs, const Space& action, bool next_actions)
      : obs_bytes_(static_cast<size_t>(obs.bytes())),
        action_bytes_(static_cast<size_t>(action.bytes())),
        next_actions_(next_actions),
        builder_(obs, action) {}

  void add_part(const TransitionDataset& data, int64_t rows, Rng rng) {
    const auto episodes = data.episodes();
    std::vector<size_t> order(episodes.size());
    for (size_t next = order.size(); rows > 0; ++next) {
      if (next >= order.size()) {
        std::iota(order.begin(), order.end(), size_t{0});
        for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[rng.below(i + 1)]);
        next = 0;
      }
      const Episode& episode = episodes[order[next]];
      const int64_t taken = std::min(rows, episode.rows);
      add_rows(data, episode.first_row, taken);
      rows -= taken;
    }
  }
  TransitionDataset build() && {
    if (next_actions_) {
      builder_.give_next_actions(std::span<const unsigned char>(given_actions_),
                                 std::move(given_valid_));
    }
    return std::move(builder_).build();
  }

 private:
  void add_rows(const TransitionDataset& data, int64_t first, int64_t count) {
    using Bytes = std::span<const unsigned char>;
    builder_.begin_episode(Bytes(data.obs_bytes(first), obs_bytes_));
    for (int64_t row = first; row < first + count; ++row) {
      builder_.add(Bytes(data.action_bytes(row), action_bytes_), data.reward(row),
                   Bytes(data.next_obs_bytes(row), obs_bytes_), data.terminated(row),
                   data.truncated(row));
      if (!next_actions_) continue;
      const unsigned char* next = data.next_action_bytes(row);
      given_actions_.insert(given_actions_.end(), next, next + action_bytes_);
      given_valid_.push_back(data.next_action_valid(row) ? 1 : 0);
    }
    const int64_t last = first + count - 1;
    if (builder_.episode_open() && data.next_action_valid(last)) {
      builder_.end_episode(Bytes(data.next_action_bytes(last), action_bytes_));
    }
  }

  size_t obs_bytes_, action_bytes_;
  bool next_actions_;
  DatasetBuilder builder_;
  std::vector<unsigned char> given_actions_;
  std::vector<uint8_t> given_valid_;
};

}  // namespace

TransitionDataset mix_transition_datasets(std::span<const DatasetPart> parts, int64_t size,
                                          uint64_t seed) {
  check_parts(parts, size);
  bool next_actions = false;
  int64_t all_rows = 0;
  for (const auto& part : parts) {
    next_actions = next_actions || part.dataset.has_next_actions();
    all_rows += part.dataset.rows();
  }
  const auto rows = shares(parts, size > 0 ? size : all_rows);
  Mixer mixer(parts[0].dataset.obs_space(), parts[0].dataset.action_space(), next_actions);
  for (size_t i = 0; i < parts.size(); ++i) {
    mixer.add_part(parts[i].dataset, rows[i], Rng(seed, "mix/" + std::to_string(i)));
  }
  const auto& first = parts[0].dataset;
  const bool same_names = std::all_of(parts.begin(), parts.end(), [&](const DatasetPart& part) {
    return part.dataset.observation_names() == first.observation_names() &&
           part.dataset.action_names() == first.action_names();
  });
  auto mixed = std::move(mixer).build();
  return same_names ? mixed.with_names(first.observation_names(), first.action_names()) : mixed;
}

}  // namespace rl_training
