#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "rl_training/data/column.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// One observation or action in the dtype of its space.
class SpaceValue {
 public:
  SpaceValue(std::span<const float> values) : bytes_(std::as_bytes(values)) {}
  SpaceValue(const std::vector<float>& values) : SpaceValue(std::span<const float>(values)) {}
  SpaceValue(std::span<const int64_t> values) : bytes_(std::as_bytes(values)) {}
  SpaceValue(std::span<const unsigned char> values) : bytes_(std::as_bytes(values)) {}
  // A braced list, for as long as the call that it is an argument of.
  SpaceValue(std::initializer_list<float> values)
      : SpaceValue(std::span<const float>(values.begin(), values.size())) {}

  const unsigned char* data() const {
    return reinterpret_cast<const unsigned char*>(bytes_.data());
  }
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }

 private:
  std::span<const std::byte> bytes_;
};

// Builds a dataset step by step.
class DatasetBuilder {
 public:
  DatasetBuilder(Space obs, Space action);
  // Vectors, with actions in [-1, 1].
  DatasetBuilder(int64_t obs_dim, int64_t action_dim)
      : DatasetBuilder(Space::unbounded(obs_dim), Space::unit_box(action_dim)) {}

  // Starts an episode; one that is still open ends before it. Episodes without a step vanish.
  void begin_episode(SpaceValue obs);
  // One step of the open episode; `terminated` or `truncated` closes it.
  void add(SpaceValue action, float reward, SpaceValue next_obs, bool terminated, bool truncated);
  // Ends the open episode, if there is one.
  void end_episode();
  // The same where the action that followed its last step is known, though that step
  // itself is not part of the data.
  void end_episode(SpaceValue next_action);
  // Next actions that came with the data, for all rows in order, instead of derived ones.
  void give_next_actions(SpaceValue next_actions, std::vector<uint8_t> valid);

  int64_t rows() const { return static_cast<int64_t>(rows_.size()); }
  // Whether `add` may follow without `begin_episode`.
  bool episode_open() const { return open_; }

  // An episode that is still open simply ends there.
  TransitionDataset build() &&;

 private:
  Space obs_space_, action_space_;
  int64_t obs_width_, action_width_;  // bytes of one entry
  bool open_ = false;
  std::vector<unsigned char> obs_, actions_, next_actions_;
  std::vector<TransitionDataset::Row> rows_;
  std::vector<Episode> episodes_;
  std::vector<uint8_t> next_action_valid_;
  bool next_actions_given_ = false;
};

// Builds a dataset over slots that lie in memory already (a mapped file, say), without a copy. The
// rows are put into `memory`.
class SlotDatasetBuilder {
 public:
  SlotDatasetBuilder(Space obs_space, Space action_space, Column<unsigned char> obs,
                     Column<unsigned char> actions, ArrayMemory& memory);

  // A step from this slot to the next one; inside an episode the slots must follow each other.
  void add(int64_t slot, float reward, bool terminated, bool truncated);
  // Ends the episode; `next_action_known`: the next slot's action followed the last step.
  void end_episode(bool next_action_known);
  void give_next_actions(SpaceValue next_actions, std::vector<uint8_t> valid);

  TransitionDataset build() &&;

 private:
  TransitionDataset::Row& last_row() { return rows_.data[row_count_ - 1]; }

  Space obs_space_, action_space_;
  int64_t obs_width_, action_width_;
  bool open_ = false;
  Column<unsigned char> obs_, actions_;
  std::vector<unsigned char> next_actions_;
  ColumnBuffer<TransitionDataset::Row> rows_;  // as many as there are slots, more than enough
  int64_t row_count_ = 0;
  std::vector<Episode> episodes_;
  std::vector<uint8_t> next_action_valid_;
  bool next_actions_given_ = false;
};

}  // namespace rl_training
