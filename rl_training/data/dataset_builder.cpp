#include "rl_training/data/dataset_builder.h"

#include <utility>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

[[noreturn]] void broken_build(const char* message) { throw Error(ErrorKind::internal, message); }

inline void expect(bool condition, const char* message) {
  if (!condition) broken_build(message);
}

}  // namespace

DatasetBuilder::DatasetBuilder(int64_t obs_dim, int64_t action_dim)
    : obs_dim_(obs_dim), action_dim_(action_dim) {
  expect(obs_dim > 0 && action_dim > 0, "a dataset needs at least one observation and one action");
}

void DatasetBuilder::begin_episode(std::span<const float> obs) {
  expect(static_cast<int64_t>(obs.size()) == obs_dim_, "begin_episode: wrong observation size");
  end_episode();
  obs_.insert(obs_.end(), obs.begin(), obs.end());
  episodes_.push_back({rows(), 0});
  open_ = true;
}

void DatasetBuilder::add(std::span<const float> action, float reward,
                         std::span<const float> next_obs, bool terminated, bool truncated) {
  expect(open_, "add: the episode has ended, begin_episode comes first");
  expect(static_cast<int64_t>(action.size()) == action_dim_, "add: wrong action size");
  expect(static_cast<int64_t>(next_obs.size()) == obs_dim_, "add: wrong observation size");
  if (episodes_.back().rows > 0) rows_.back().next_action_valid = 1;
  TransitionDataset::Row row;
  row.slot = static_cast<int64_t>(obs_.size()) / obs_dim_ - 1;
  row.reward = reward;
  row.terminated = terminated ? 1 : 0;
  row.truncated = truncated ? 1 : 0;
  rows_.push_back(row);
  actions_.insert(actions_.end(), action.begin(), action.end());
  obs_.insert(obs_.end(), next_obs.begin(), next_obs.end());
  ++episodes_.back().rows;
  if (terminated || truncated) end_episode();
}

void DatasetBuilder::end_episode(std::span<const float> next_action) {
  expect(static_cast<int64_t>(next_action.size()) == action_dim_, "end_episode: wrong action");
  if (!open_) return;
  const bool has_rows = episodes_.back().rows > 0;
  end_episode();
  if (!has_rows) return;
  rows_.back().next_action_valid = 1;
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
  expect(static_cast<int64_t>(valid.size()) == rows(), "give_next_actions: one for each row");
  next_actions_ = std::move(next_actions);
  next_action_valid_ = std::move(valid);
  next_actions_given_ = true;
}

TransitionDataset DatasetBuilder::build() && {
  end_episode();
  TransitionDataset dataset(
      obs_dim_, action_dim_, Column<float>(std::move(obs_)), Column<float>(std::move(actions_)),
      Column<TransitionDataset::Row>(std::move(rows_)), Column<Episode>(std::move(episodes_)));
  if (next_actions_given_) {
    dataset.give_next_actions(std::move(next_actions_), next_action_valid_);
  }
  dataset.compute_hashes(next_actions_given_);
  return dataset;
}

SlotDatasetBuilder::SlotDatasetBuilder(int64_t obs_dim, int64_t action_dim, Column<float> obs,
                                       Column<float> actions, ArrayMemory& memory)
    : obs_dim_(obs_dim),
      action_dim_(action_dim),
      obs_(std::move(obs)),
      actions_(std::move(actions)) {
  expect(obs_dim > 0 && action_dim > 0, "a dataset needs at least one observation and one action");
  expect(obs_.size() / obs_dim == actions_.size() / action_dim && obs_.size() % obs_dim == 0 &&
             actions_.size() % action_dim == 0,
         "every slot needs an observation and an action");
  rows_ = ColumnBuffer<TransitionDataset::Row>(memory, obs_.size() / obs_dim);
}

void SlotDatasetBuilder::add(int64_t slot, float reward, bool terminated, bool truncated) {
  expect(slot >= 0 && (slot + 2) * obs_dim_ <= obs_.size(), "add: there is no next slot");
  expect(!open_ || last_row().slot + 1 == slot, "add: slots of an episode follow each other");
  expect(row_count_ < rows_.size, "add: more rows than slots");
  if (open_) {
    last_row().next_action_valid = 1;
  } else {
    episodes_.push_back({row_count_, 0});
  }
  auto& row = rows_.data[row_count_++];
  row.slot = slot;
  row.reward = reward;
  row.terminated = terminated ? 1 : 0;
  row.truncated = truncated ? 1 : 0;
  row.next_action_valid = 0;
  ++episodes_.back().rows;
  open_ = !terminated && !truncated;
}

void SlotDatasetBuilder::end_episode(bool next_action_known) {
  if (open_) last_row().next_action_valid = next_action_known ? 1 : 0;
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
                            rows_.column(row_count_), Column<Episode>(std::move(episodes_)));
  if (next_actions_given_) {
    dataset.give_next_actions(std::move(next_actions_), next_action_valid_);
  }
  dataset.compute_hashes(next_actions_given_);
  return dataset;
}

}  // namespace rl_training
