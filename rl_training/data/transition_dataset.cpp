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

TransitionDataset TransitionDataset::with_next_actions() const {
  if (has_next_actions()) return *this;
  TransitionDataset result = *this;
  result.next_actions_kind_ = NextActions::derived;
  result.fingerprint_ = result.compute_fingerprint();
  return result;
}

std::string TransitionDataset::compute_fingerprint() const {
  Sha256 hash;
  hash.add("rl_training transitions 1");
  add_numbers(hash, std::array{rows(), obs_dim_, action_dim_, episodes_.size()});
  for (const Episode& episode : episodes_.span()) add_numbers(hash, std::array{episode.rows});
  add_floats(hash, obs_.data(), obs_.size());
  add_floats(hash, actions_.data(), actions_.size());

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
  close_episode();
  obs_.insert(obs_.end(), obs.begin(), obs.end());
  episodes_.push_back({rows(), 0});
  open_ = true;
}

void DatasetBuilder::add(std::span<const float> action, float reward,
                         std::span<const float> next_obs, bool terminated, bool truncated) {
  require(open_, "add: the episode has ended, begin_episode comes first");
  require(static_cast<int64_t>(action.size()) == action_dim_, "add: wrong action size");
  require(static_cast<int64_t>(next_obs.size()) == obs_dim_, "add: wrong observation size");
  TransitionDataset::Row row;
  row.obs_index = static_cast<int64_t>(obs_.size()) / obs_dim_ - 1;
  row.reward = reward;
  row.terminated = terminated;
  row.truncated = truncated;
  rows_.push_back(row);
  actions_.insert(actions_.end(), action.begin(), action.end());
  obs_.insert(obs_.end(), next_obs.begin(), next_obs.end());
  ++episodes_.back().rows;
  if (terminated || truncated) close_episode();
}

void DatasetBuilder::close_episode() {
  if (!open_) return;
  open_ = false;
  if (episodes_.back().rows > 0) {
    rows_.back().last = true;
  } else {
    episodes_.pop_back();
    obs_.resize(obs_.size() - static_cast<size_t>(obs_dim_));
  }
}

void DatasetBuilder::give_next_actions(std::vector<float> next_actions,
                                       const std::vector<uint8_t>& valid) {
  require(valid.size() == rows_.size() && next_actions.size() == actions_.size(),
          "give_next_actions: one for each row is needed");
  for (size_t row = 0; row < valid.size(); ++row) {
    rows_[row].next_action_valid = valid[row] != 0;
    if (valid[row] != 0) continue;
    const auto first = next_actions.begin() + static_cast<int64_t>(row) * action_dim_;
    std::fill(first, first + action_dim_, 0.0f);
  }
  next_actions_ = std::move(next_actions);
  next_actions_given_ = true;
}

TransitionDataset DatasetBuilder::build() && {
  close_episode();
  TransitionDataset dataset;
  dataset.obs_dim_ = obs_dim_;
  dataset.action_dim_ = action_dim_;
  dataset.obs_ = Column<float>(std::move(obs_));
  dataset.actions_ = Column<float>(std::move(actions_));
  dataset.no_action_ = Column<float>(std::vector<float>(static_cast<size_t>(action_dim_), 0.0f));
  dataset.rows_ = Column<TransitionDataset::Row>(std::move(rows_));
  dataset.episodes_ = Column<Episode>(std::move(episodes_));
  if (next_actions_given_) {
    require(next_actions_.size() == static_cast<size_t>(dataset.actions_.size()),
            "build: rows were added after give_next_actions");
    dataset.next_actions_ = Column<float>(std::move(next_actions_));
    dataset.next_actions_kind_ = TransitionDataset::NextActions::given;
  }
  dataset.fingerprint_ = dataset.compute_fingerprint();
  return dataset;
}

}  // namespace rl_training
