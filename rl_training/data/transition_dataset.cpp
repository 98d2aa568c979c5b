#include "rl_training/data/transition_dataset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "rl_training/util/error.h"
#include "rl_training/util/hash.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {
namespace {

[[noreturn]] void broken_rule(const char* message) { throw Error(ErrorKind::internal, message); }

inline void require(bool condition, const char* message) {
  if (!condition) broken_rule(message);
}

}  // namespace

TransitionDataset::TransitionDataset(Space obs_space, Space action_space, Bytes obs, Bytes actions,
                                     Column<Row> rows, Column<Episode> episodes)
    : obs_space_(std::move(obs_space)),
      action_space_(std::move(action_space)),
      obs_width_(obs_space_.bytes()),
      action_width_(action_space_.bytes()),
      obs_(std::move(obs)),
      actions_(std::move(actions)),
      no_action_(std::vector<unsigned char>(static_cast<size_t>(action_width_), 0)),
      rows_(std::move(rows)),
      episodes_(std::move(episodes)) {}

void TransitionDataset::mark_last_rows(std::span<Row> rows, std::span<const Episode> episodes) {
  for (Row& row : rows) row.last = 0;
  for (const Episode& episode : episodes) {
    rows[static_cast<size_t>(episode.first_row + episode.rows - 1)].last = 1;
  }
}

int64_t TransitionDataset::as_choice(const unsigned char* bytes) {
  int64_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

void TransitionDataset::give_next_actions(std::vector<unsigned char> next_actions,
                                          const std::vector<uint8_t>& valid) {
  require(static_cast<int64_t>(valid.size()) == rows() &&
              static_cast<int64_t>(next_actions.size()) == rows() * action_width_,
          "build: one next action for each row is needed");
  std::vector<Row> rows(rows_.span().begin(), rows_.span().end());
  for (size_t row = 0; row < rows.size(); ++row)
    rows[row].next_action_valid = valid[row] != 0 ? 1 : 0;
  rows_ = Column<Row>(std::move(rows));
  next_actions_ = Bytes(std::move(next_actions));
  next_actions_kind_ = NextActions::given;
}

TransitionDataset TransitionDataset::with_rewards(std::span<const float> rewards) const {
  require(static_cast<int64_t>(rewards.size()) == rows(),
          "with_rewards: one reward per row is needed");
  TransitionDataset result = *this;
  std::vector<Row> changed(rows_.span().begin(), rows_.span().end());
  for (size_t row = 0; row < changed.size(); ++row) changed[row].reward = rewards[row];
  result.rows_ = Column<Row>(std::move(changed));
  result.returns_to_go_ = {};
  result.hashes_.rewards = result.hash_rewards();
  result.update_fingerprint();
  return result;
}

TransitionDataset TransitionDataset::with_returns_to_go(const ReturnRule& rule) const {
  std::vector<float> returns(static_cast<size_t>(rows()));
  for (const Episode& episode : episodes_.span()) {
    const auto reward_of = [&](int64_t step) { return reward(episode.first_row + step); };
    bool failed = rule.failure_reward.has_value();
    for (int64_t i = 0; i < episode.rows && failed; ++i) failed = rule.is_failure(reward_of(i));
    rule.sum_up(episode.rows, failed, reward_of, [&](int64_t step, float value) {
      returns[static_cast<size_t>(episode.first_row + step)] = value;
    });
  }
  TransitionDataset result = *this;
  result.returns_to_go_ = Column<float>(std::move(returns));
  return result;
}

TransitionDataset TransitionDataset::with_episodes(std::span<const int64_t> episodes) const {
  TransitionDataset result = *this;
  std::vector<Row> rows;
  std::vector<Episode> kept;
  std::vector<unsigned char> next_actions;
  for (const int64_t index : episodes) {
    require(index >= 0 && index < episodes_.size(), "with_episodes: no such episode");
    const Episode& episode = episodes_[index];
    const auto from = rows_.span().subspan(static_cast<size_t>(episode.first_row),
                                           static_cast<size_t>(episode.rows));
    kept.push_back({static_cast<int64_t>(rows.size()), episode.rows});
    rows.insert(rows.end(), from.begin(), from.end());
    if (next_actions_kind_ != NextActions::given) continue;
    const unsigned char* first = next_actions_.data() + episode.first_row * action_width_;
    next_actions.insert(next_actions.end(), first, first + episode.rows * action_width_);
  }
  result.rows_ = Column<Row>(std::move(rows));
  result.episodes_ = Column<Episode>(std::move(kept));
  result.next_actions_ = Bytes(std::move(next_actions));
  result.returns_to_go_ = {};
  result.compute_hashes(has_next_actions());
  return result;
}

TransitionDataset TransitionDataset::with_names(std::vector<std::string> observation_names,
                                                std::vector<std::string> action_names) const {
  TransitionDataset result = *this;
  result.observation_names_ = std::move(observation_names);
  result.action_names_ = std::move(action_names);
  return result;
}

TransitionDataset TransitionDataset::with_next_actions() const {
  if (has_next_actions()) return *this;
  TransitionDataset result = *this;
  result.next_actions_kind_ = NextActions::derived;
  if (result.hashes_.next_actions.empty()) {
    result.hashes_.next_actions = result.hash_next_actions();
  }
  result.update_fingerprint();
  return result;
}

TransitionDataset TransitionDataset::where_next_action_is_known() const {
  const auto known = [](const Row& row) { return row.next_action_valid || row.terminated; };
  const auto all = rows_.span();
  if (std::all_of(all.begin(), all.end(), known)) return *this;
  std::vector<Row> kept;
  std::vector<Episode> episodes;
  std::vector<unsigned char> given;
  for (const Episode& episode : episodes_.span()) {
    bool open = false;
    for (int64_t row = episode.first_row; row < episode.first_row + episode.rows; ++row) {
      if (!known(rows_[row])) {
        open = false;
        continue;
      }
      if (!std::exchange(open, true)) episodes.push_back({static_cast<int64_t>(kept.size()), 0});
      ++episodes.back().rows;
      kept.push_back(rows_[row]);
      if (next_actions_kind_ == NextActions::given) {
        const unsigned char* action = next_action_bytes(row);
        given.insert(given.end(), action, action + action_width_);
      }
    }
  }
  TransitionDataset result = *this;
  mark_last_rows(kept, episodes);
  result.rows_ = Column<Row>(std::move(kept));
  result.episodes_ = Column<Episode>(std::move(episodes));
  if (next_actions_kind_ == NextActions::given) result.next_actions_ = Bytes(std::move(given));
  result.returns_to_go_ = {};
  result.compute_hashes(has_next_actions());
  return result;
}

// Hashes only the observations and next observations of rows, because other slots may contain
// arbitrary data.
std::string TransitionDataset::hash_obs() const {
  ContentHash hash;
  for (const Episode& episode : episodes_.span()) {
    const int64_t last = episode.first_row + episode.rows - 1;
    hash.add(obs_bytes(episode.first_row), static_cast<size_t>(episode.rows * obs_width_));
    hash.add(next_obs_bytes(last), static_cast<size_t>(obs_width_));
  }
  return hash.hex();
}

std::string TransitionDataset::hash_actions() const {
  ContentHash hash;
  for (const Episode& episode : episodes_.span()) {
    hash.add(action_bytes(episode.first_row), static_cast<size_t>(episode.rows * action_width_));
  }
  return hash.hex();
}

// Hashes the reward and the flags of each row: 4 bytes and 1 byte.
std::string TransitionDataset::hash_rewards() const {
  constexpr int64_t kBlock = 4096;
  ContentHash hash;
  std::vector<unsigned char> bytes(kBlock * 5);
  for (int64_t first = 0; first < rows(); first += kBlock) {
    const int64_t count = std::min(kBlock, rows() - first);
    unsigned char* next = bytes.data();
    for (const Row& row :
         rows_.span().subspan(static_cast<size_t>(first), static_cast<size_t>(count))) {
      std::memcpy(next, &row.reward, sizeof(float));
      next[4] =
          static_cast<unsigned char>((row.terminated != 0 ? 1 : 0) | (row.truncated != 0 ? 2 : 0));
      next += 5;
    }
    hash.add(bytes.data(), static_cast<size_t>(count) * 5);
  }
  return hash.hex();
}

// The hash depends only on the next actions, not on whether they are stored or derived.
std::string TransitionDataset::hash_next_actions() const {
  ContentHash hash;
  const auto bytes = static_cast<size_t>(action_width_);
  const bool given = next_actions_kind_ == NextActions::given;
  for (int64_t row = 0; row < rows(); ++row) {
    const unsigned char valid = next_action_valid(row) ? 1 : 0;
    hash.add(&valid, 1);
    const unsigned char* next =
        given ? next_actions_.data() + row * action_width_ : action_bytes(row) + action_width_;
    hash.add(valid ? next : no_action_.data(), bytes);
  }
  return hash.hex();
}

void TransitionDataset::compute_hashes(bool with_next_actions) {
  // Uses several threads only for large datasets.
  constexpr int64_t kManyBytes = int64_t{1} << 23;
  const bool large = rows() * (obs_width_ + action_width_) > kManyBytes;
  ThreadPool pool(large ? std::min(available_cores(), 4) : 1);
  pool.run(4, [&](int64_t part) {
    if (part == 0) hashes_.obs = hash_obs();
    if (part == 1) hashes_.actions = hash_actions();
    if (part == 2) hashes_.rewards = hash_rewards();
    if (part == 3 && with_next_actions) hashes_.next_actions = hash_next_actions();
  });
  update_fingerprint();
}

void TransitionDataset::update_fingerprint() {
  Sha256 hash;
  const auto add = [&](int64_t number) { hash.add(&number, sizeof number); };
  hash.add("rl_training transitions 3");
  for (const int64_t number : {rows(), obs_dim(), action_dim(), episodes_.size()}) add(number);
  // For float vectors, the fingerprint does not include the spaces. It is therefore the same as in
  // versions that supported only float vectors.
  if (obs_space_.dtype != DType::f32 || action_space_.dtype != DType::f32) {
    hash.add(space_to_json(obs_space_).dump() + space_to_json(action_space_).dump());
  }
  for (const Episode& episode : episodes_.span()) add(episode.rows);
  hash.add(hashes_.obs + hashes_.actions + hashes_.rewards);
  if (has_next_actions()) hash.add(hashes_.next_actions);
  fingerprint_ = hash.hex();
}

double TransitionDataset::episode_return(int64_t episode, double gamma) const {
  const Episode& range = episodes_[episode];
  double sum = 0, discount = 1;
  for (int64_t row = range.first_row; row < range.first_row + range.rows; ++row) {
    sum += discount * reward(row);
    discount *= gamma;
  }
  return sum;
}

double TransitionDataset::mean_return() const {
  double sum = 0;
  for (int64_t episode = 0; episode < episodes_.size(); ++episode) sum += episode_return(episode);
  return episodes_.size() == 0 ? 0.0 : sum / static_cast<double>(episodes_.size());
}

double TransitionDataset::largest_reward() const {
  float largest = 0;
  for (int64_t row = 0; row < rows(); ++row) largest = std::max(largest, std::abs(reward(row)));
  return largest;
}

}  // namespace rl_training
