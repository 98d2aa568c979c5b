#include "rl_training/data/transition_dataset.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "rl_training/util/error.h"
#include "rl_training/util/hash.h"

namespace rl_training {
namespace {

void require(bool condition, const char* message) {
  if (!condition) throw Error(ErrorKind::internal, message);
}

void add_numbers(Sha256& hash, std::span<const int64_t> numbers) {
  hash.add(numbers.data(), numbers.size_bytes());
}

void add_floats(Sha256& hash, const float* values, int64_t count) {
  hash.add(values, static_cast<size_t>(count) * sizeof(float));
}

}  // namespace

TransitionDataset::TransitionDataset(int64_t obs_dim, int64_t action_dim, Column<float> obs,
                                     Column<float> actions, std::vector<Row> rows,
                                     std::vector<Episode> episodes)
    : obs_dim_(obs_dim),
      action_dim_(action_dim),
      obs_(std::move(obs)),
      actions_(std::move(actions)),
      no_action_(std::vector<float>(static_cast<size_t>(action_dim), 0.0f)),
      rows_(std::move(rows)),
      episodes_(std::move(episodes)) {}

void TransitionDataset::give_next_actions(std::vector<float> next_actions,
                                          const std::vector<uint8_t>& valid) {
  require(static_cast<int64_t>(valid.size()) == rows() &&
              static_cast<int64_t>(next_actions.size()) == rows() * action_dim_,
          "build: one next action for each row is needed");
  std::vector<Row> rows(rows_.span().begin(), rows_.span().end());
  for (size_t row = 0; row < rows.size(); ++row) rows[row].next_action_valid = valid[row] != 0;
  rows_ = Column<Row>(std::move(rows));
  next_actions_ = Column<float>(std::move(next_actions));
  next_actions_kind_ = NextActions::given;
}

TransitionDataset TransitionDataset::with_rewards(std::span<const float> rewards) const {
  require(static_cast<int64_t>(rewards.size()) == rows(), "with_rewards: one for each row");
  TransitionDataset result = *this;
  std::vector<Row> changed(rows_.span().begin(), rows_.span().end());
  for (size_t row = 0; row < changed.size(); ++row) changed[row].reward = rewards[row];
  result.rows_ = Column<Row>(std::move(changed));
  result.fingerprint_ = result.compute_fingerprint();
  return result;
}

TransitionDataset TransitionDataset::with_next_actions() const {
  if (has_next_actions()) return *this;
  TransitionDataset result = *this;
  result.next_actions_kind_ = NextActions::derived;
  result.fingerprint_ = result.compute_fingerprint();
  return result;
}

TransitionDataset TransitionDataset::where_next_action_is_known() const {
  const auto known = [](const Row& row) { return row.next_action_valid || row.terminated; };
  const auto all = rows_.span();
  if (std::all_of(all.begin(), all.end(), known)) return *this;
  std::vector<Row> kept;
  std::vector<Episode> episodes;
  std::vector<float> given;
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
        given.insert(given.end(), next_action(row), next_action(row) + action_dim_);
      }
    }
  }
  TransitionDataset result = *this;
  result.rows_ = Column<Row>(std::move(kept));
  result.episodes_ = Column<Episode>(std::move(episodes));
  if (next_actions_kind_ == NextActions::given)
    result.next_actions_ = Column<float>(std::move(given));
  result.fingerprint_ = result.compute_fingerprint();
  return result;
}

std::string TransitionDataset::compute_fingerprint() const {
  Sha256 hash;
  hash.add("rl_training transitions 1");
  add_numbers(hash, std::array{rows(), obs_dim_, action_dim_, episodes_.size()});
  const auto all = episodes_.span();
  for (const Episode& episode : all) add_numbers(hash, std::array{episode.rows});
  // Only what belongs to rows: slots in between may hold anything.
  for (const Episode& episode : all) {
    add_floats(hash, obs(episode.first_row), (episode.rows + 1) * obs_dim_);
  }
  for (const Episode& episode : all) {
    add_floats(hash, action(episode.first_row), episode.rows * action_dim_);
  }

  // Rewards and flags row by row, in blocks to keep the number of calls small.
  constexpr size_t kRecord = sizeof(float) + 1;
  std::array<unsigned char, 4096 * kRecord> block;
  size_t used = 0;
  for (int64_t row = 0; row < rows(); ++row) {
    std::memcpy(block.data() + used, &rows_[row].reward, sizeof(float));
    int flags = (terminated(row) ? 1 : 0) | (truncated(row) ? 2 : 0);
    if (has_next_actions() && next_action_valid(row)) flags |= 4;
    block[used + sizeof(float)] = static_cast<unsigned char>(flags);
    used += kRecord;
    if (used == block.size()) hash.add(block.data(), std::exchange(used, 0));
  }
  hash.add(block.data(), used);

  if (has_next_actions()) {
    // Read through next_action(), so that derived and stored ones of equal value count as equal.
    hash.add("next actions");
    for (int64_t row = 0; row < rows(); ++row) add_floats(hash, next_action(row), action_dim_);
  }
  return hash.hex();
}

double TransitionDataset::episode_return(int64_t episode) const {
  const Episode& range = episodes_[episode];
  double sum = 0;
  for (int64_t row = range.first_row; row < range.first_row + range.rows; ++row) {
    sum += reward(row);
  }
  return sum;
}

double TransitionDataset::mean_return() const {
  double sum = 0;
  for (int64_t episode = 0; episode < episodes_.size(); ++episode) sum += episode_return(episode);
  return episodes_.size() == 0 ? 0.0 : sum / static_cast<double>(episodes_.size());
}

DatasetBuilder::DatasetBuilder(int64_t obs_dim, int64_t action_dim)
    : obs_dim_(obs_dim), action_dim_(action_dim) {
  require(obs_dim > 0 && action_dim > 0, "a dataset needs at least one observation and one action");
}

void DatasetBuilder::begin_episode(std::span<const float> obs) {
  require(static_cast<int64_t>(obs.size()) == obs_dim_, "begin_episode: wrong observation size");
  end_episode();
  obs_.insert(obs_.end(), obs.begin(), obs.end());
  episodes_.push_back({rows(), 0});
  open_ = true;
}

void DatasetBuilder::add(std::span<const float> action, float reward,
                         std::span<const float> next_obs, bool terminated, bool truncated) {
  require(open_, "add: the episode has ended, begin_episode comes first");
  require(static_cast<int64_t>(action.size()) == action_dim_, "add: wrong action size");
  require(static_cast<int64_t>(next_obs.size()) == obs_dim_, "add: wrong observation size");
  if (episodes_.back().rows > 0) rows_.back().next_action_valid = true;
  TransitionDataset::Row row;
  row.slot = static_cast<int64_t>(obs_.size()) / obs_dim_ - 1;
  row.reward = reward;
  row.terminated = terminated;
  row.truncated = truncated;
  rows_.push_back(row);
  actions_.insert(actions_.end(), action.begin(), action.end());
  obs_.insert(obs_.end(), next_obs.begin(), next_obs.end());
  ++episodes_.back().rows;
  if (terminated || truncated) end_episode();
}

void DatasetBuilder::end_episode(std::span<const float> next_action) {
  require(static_cast<int64_t>(next_action.size()) == action_dim_, "end_episode: wrong action");
  if (!open_) return;
  const bool has_rows = episodes_.back().rows > 0;
  end_episode();
  if (!has_rows) return;
  rows_.back().next_action_valid = true;
  std::copy(next_action.begin(), next_action.end(), actions_.end() - action_dim_);
}

void DatasetBuilder::end_episode() {
  if (!open_) return;
  open_ = false;
  if (episodes_.back().rows > 0) {
    actions_.resize(actions_.size() + static_cast<size_t>(action_dim_), 0.0f);
  } else {
    episodes_.pop_back();
    obs_.resize(obs_.size() - static_cast<size_t>(obs_dim_));
  }
}

void DatasetBuilder::give_next_actions(std::vector<float> next_actions,
                                       std::vector<uint8_t> valid) {
  require(static_cast<int64_t>(valid.size()) == rows(), "give_next_actions: one for each row");
  next_actions_ = std::move(next_actions);
  next_action_valid_ = std::move(valid);
  next_actions_given_ = true;
}

TransitionDataset DatasetBuilder::build() && {
  end_episode();
  TransitionDataset dataset(obs_dim_, action_dim_, Column<float>(std::move(obs_)),
                            Column<float>(std::move(actions_)), std::move(rows_),
                            std::move(episodes_));
  if (next_actions_given_) {
    dataset.give_next_actions(std::move(next_actions_), next_action_valid_);
  }
  dataset.fingerprint_ = dataset.compute_fingerprint();
  return dataset;
}

SlotDatasetBuilder::SlotDatasetBuilder(int64_t obs_dim, int64_t action_dim, Column<float> obs,
                                       Column<float> actions)
    : obs_dim_(obs_dim),
      action_dim_(action_dim),
      obs_(std::move(obs)),
      actions_(std::move(actions)) {
  require(obs_dim > 0 && action_dim > 0, "a dataset needs at least one observation and one action");
  require(obs_.size() / obs_dim == actions_.size() / action_dim && obs_.size() % obs_dim == 0 &&
              actions_.size() % action_dim == 0,
          "every slot needs an observation and an action");
}

void SlotDatasetBuilder::add(int64_t slot, float reward, bool terminated, bool truncated) {
  require(slot >= 0 && (slot + 2) * obs_dim_ <= obs_.size(), "add: there is no next slot");
  require(!open_ || rows_.back().slot + 1 == slot, "add: slots of an episode follow each other");
  if (open_) {
    rows_.back().next_action_valid = true;
  } else {
    episodes_.push_back({static_cast<int64_t>(rows_.size()), 0});
  }
  TransitionDataset::Row row;
  row.slot = slot;
  row.reward = reward;
  row.terminated = terminated;
  row.truncated = truncated;
  rows_.push_back(row);
  ++episodes_.back().rows;
  open_ = !terminated && !truncated;
}

void SlotDatasetBuilder::end_episode(bool next_action_known) {
  if (open_) rows_.back().next_action_valid = next_action_known;
  open_ = false;
}

void SlotDatasetBuilder::give_next_actions(std::vector<float> next_actions,
                                           std::vector<uint8_t> valid) {
  next_actions_ = std::move(next_actions);
  next_action_valid_ = std::move(valid);
  next_actions_given_ = true;
}

TransitionDataset SlotDatasetBuilder::build() && {
  TransitionDataset dataset(obs_dim_, action_dim_, std::move(obs_), std::move(actions_),
                            std::move(rows_), std::move(episodes_));
  if (next_actions_given_) {
    dataset.give_next_actions(std::move(next_actions_), next_action_valid_);
  }
  dataset.fingerprint_ = dataset.compute_fingerprint();
  return dataset;
}

}  // namespace rl_training
