#include "rl_training/data/dataset_builder.h"

#include <utility>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

[[noreturn]] void broken_build(const char* message) { throw Error(ErrorKind::internal, message); }

inline void expect(bool condition, const char* message) {
  if (!condition) broken_build(message);
}

void append(std::vector<unsigned char>& bytes, const SpaceValue& entry) {
  bytes.insert(bytes.end(), entry.data(), entry.data() + entry.size());
}

}  // namespace

DatasetBuilder::DatasetBuilder(Space obs, Space action)
    : obs_space_(std::move(obs)),
      action_space_(std::move(action)),
      obs_width_(obs_space_.bytes()),
      action_width_(action_space_.bytes()) {
  expect(obs_width_ > 0 && action_width_ > 0,
         "a dataset needs at least one observation and one action");
}

void DatasetBuilder::begin_episode(SpaceValue obs) {
  expect(obs.size() == obs_width_, "begin_episode: wrong observation size");
  end_episode();
  append(obs_, obs);
  episodes_.push_back({rows(), 0});
  open_ = true;
}

void DatasetBuilder::add(SpaceValue action, float reward, SpaceValue next_obs, bool terminated,
                         bool truncated) {
  expect(open_, "add: the episode has ended, begin_episode comes first");
  expect(action.size() == action_width_, "add: wrong action size");
  expect(next_obs.size() == obs_width_, "add: wrong observation size");
  if (episodes_.back().rows > 0) rows_.back().next_action_valid = 1;
  TransitionDataset::Row row;
  row.slot = static_cast<int64_t>(obs_.size()) / obs_width_ - 1;
  row.reward = reward;
  row.terminated = terminated ? 1 : 0;
  row.truncated = truncated ? 1 : 0;
  rows_.push_back(row);
  append(actions_, action);
  append(obs_, next_obs);
  ++episodes_.back().rows;
  if (terminated || truncated) end_episode();
}

void DatasetBuilder::end_episode(SpaceValue next_action) {
  expect(next_action.size() == action_width_, "end_episode: wrong action");
  if (!open_) return;
  const bool has_rows = episodes_.back().rows > 0;
  end_episode();
  if (!has_rows) return;
  rows_.back().next_action_valid = 1;
  std::copy_n(next_action.data(), action_width_, actions_.end() - action_width_);
}

void DatasetBuilder::end_episode() {
  if (!open_) return;
  open_ = false;
  if (episodes_.back().rows > 0) {
    actions_.resize(actions_.size() + static_cast<size_t>(action_width_), 0);
  } else {
    episodes_.pop_back();
    obs_.resize(obs_.size() - static_cast<size_t>(obs_width_));
  }
}

void DatasetBuilder::give_next_actions(SpaceValue next_actions, std::vector<uint8_t> valid) {
  expect(static_cast<int64_t>(valid.size()) == rows(), "give_next_actions: one for each row");
  append(next_actions_, next_actions);
  next_action_valid_ = std::move(valid);
  next_actions_given_ = true;
}

TransitionDataset DatasetBuilder::build() && {
  end_episode();
  TransitionDataset::mark_last_rows(rows_, episodes_);
  TransitionDataset dataset(obs_space_, action_space_, Column<unsigned char>(std::move(obs_)),
                            Column<unsigned char>(std::move(actions_)),
                            Column<TransitionDataset::Row>(std::move(rows_)),
                            Column<Episode>(std::move(episodes_)));
  if (next_actions_given_) {
    dataset.give_next_actions(std::move(next_actions_), next_action_valid_);
  }
  dataset.compute_hashes(next_actions_given_);
  return dataset;
}

SlotDatasetBuilder::SlotDatasetBuilder(Space obs_space, Space action_space,
                                       Column<unsigned char> obs, Column<unsigned char> actions,
                                       ArrayMemory& memory)
    : obs_space_(std::move(obs_space)),
      action_space_(std::move(action_space)),
      obs_width_(obs_space_.bytes()),
      action_width_(action_space_.bytes()),
      obs_(std::move(obs)),
      actions_(std::move(actions)) {
  expect(obs_width_ > 0 && action_width_ > 0,
         "a dataset needs at least one observation and one action");
  expect(obs_.size() / obs_width_ == actions_.size() / action_width_ &&
             obs_.size() % obs_width_ == 0 && actions_.size() % action_width_ == 0,
         "every slot needs an observation and an action");
  rows_ = ColumnBuffer<TransitionDataset::Row>(memory, obs_.size() / obs_width_);
}

void SlotDatasetBuilder::add(int64_t slot, float reward, bool terminated, bool truncated) {
  expect(slot >= 0 && (slot + 1) * obs_width_ <= obs_.size(), "add: there is no such slot");
  expect(!open_ || last_row().slot + 1 == slot, "add: slots of an episode follow each other");
  expect(row_count_ < rows_.size, "add: more rows than slots");
  if (open_) {
    last_row().next_action_valid = 1;
  } else {
    episodes_.push_back({row_count_, 0});
  }
  auto& row = rows_.data[row_count_++];
  row.slot = slot;
  row.own_successor = 0;
  row.reward = reward;
  row.terminated = terminated ? 1 : 0;
  row.truncated = truncated ? 1 : 0;
  row.next_action_valid = 0;
  ++episodes_.back().rows;
  open_ = !terminated && !truncated;
}

void SlotDatasetBuilder::give_successor(SpaceValue next_obs) {
  append(successors_, next_obs);
  last_row().own_successor = static_cast<int64_t>(successors_.size()) / obs_width_;
}

void SlotDatasetBuilder::end_episode(bool next_action_known) {
  if (open_) last_row().next_action_valid = next_action_known ? 1 : 0;
  open_ = false;
}

void SlotDatasetBuilder::give_next_actions(SpaceValue next_actions, std::vector<uint8_t> valid) {
  append(next_actions_, next_actions);
  next_action_valid_ = std::move(valid);
  next_actions_given_ = true;
}

TransitionDataset SlotDatasetBuilder::build() && {
  for (const auto& episode : episodes_) {
    const auto& last = rows_.data[episode.first_row + episode.rows - 1];
    expect(last.own_successor != 0 || (last.slot + 2) * obs_width_ <= obs_.size(),
           "build: a step has no successor");
  }
  TransitionDataset::mark_last_rows(rows_.first(row_count_), episodes_);
  TransitionDataset dataset(obs_space_, action_space_, std::move(obs_), std::move(actions_),
                            rows_.column(row_count_), Column<Episode>(std::move(episodes_)));
  dataset.successors_ = Column<unsigned char>(std::move(successors_));
  if (next_actions_given_) {
    dataset.give_next_actions(std::move(next_actions_), next_action_valid_);
  }
  dataset.compute_hashes(next_actions_given_);
  return dataset;
}

}  // namespace rl_training
