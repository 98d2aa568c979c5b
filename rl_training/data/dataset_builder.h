#pragma once
#include <concepts>
#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

#include "rl_training/data/column.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

template <class T>
concept SpaceElement =
    std::same_as<T, float> || std::same_as<T, int64_t> || std::same_as<T, unsigned char>;

// One observation or action in the dtype of its space: a view of a vector, an array or a span.
class SpaceValue {
 public:
  template <std::ranges::contiguous_range Range>
  requires SpaceElement<std::ranges::range_value_t<Range>> SpaceValue(const Range& values)
      : data_(reinterpret_cast<const unsigned char*>(std::ranges::data(values))),
        size_(static_cast<int64_t>(std::ranges::size(values) *
                                   sizeof(std::ranges::range_value_t<Range>))) {}

  const unsigned char* data() const { return data_; }
  int64_t size() const { return size_; }  // in bytes

 private:
  const unsigned char* data_;
  int64_t size_;
};

// Builds a dataset step by step.
class DatasetBuilder {
 public:
  DatasetBuilder(Space obs, Space action);
  // Vectors, with actions in [-1, 1].
  DatasetBuilder(int64_t obs_dim, int64_t action_dim)
      : DatasetBuilder(Space::unbounded(obs_dim), Space::unit_box(action_dim)) {}

  // Starts an episode, after ending an open one. Episodes without steps are discarded.
  void begin_episode(SpaceValue obs);
  // One step of the open episode; `terminated` or `truncated` closes it.
  void add(SpaceValue action, float reward, SpaceValue next_obs, bool terminated, bool truncated);
  // Ends the open episode, if there is one.
  void end_episode();
  // The same if the action that followed the last step is known, although that following step is
  // not part of the data.
  void end_episode(SpaceValue next_action);
  // Uses these next actions, one per row in order, instead of deriving them.
  void give_next_actions(SpaceValue next_actions, std::vector<uint8_t> valid);

  int64_t rows() const { return static_cast<int64_t>(rows_.size()); }
  // Whether `add` may follow without `begin_episode`.
  bool episode_open() const { return open_; }

  // Ends an open episode.
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

// Builds a dataset over slots that are already in memory (for example a mapped file), without a
// copy. Rows are stored in `memory`.
class SlotDatasetBuilder {
 public:
  SlotDatasetBuilder(Space obs_space, Space action_space, Column<unsigned char> obs,
                     Column<unsigned char> actions, ArrayMemory& memory);

  // A step from this slot to the next one; inside an episode the slots must follow each other.
  void add(int64_t slot, float reward, bool terminated, bool truncated);
  // Sets the successor of the last step if it is not in the next slot; at most kMostSuccessors
  // times.
  static constexpr int64_t kMostSuccessors = (int64_t{1} << 24) - 1;
  void give_successor(SpaceValue next_obs);
  // Ends the episode. `next_action_known` states that the next slot holds the action that followed
  // the last step.
  void end_episode(bool next_action_known);
  void give_next_actions(SpaceValue next_actions, std::vector<uint8_t> valid);

  TransitionDataset build() &&;

 private:
  TransitionDataset::Row& last_row() { return rows_.data[row_count_ - 1]; }

  Space obs_space_, action_space_;
  int64_t obs_width_, action_width_;
  bool open_ = false;
  Column<unsigned char> obs_, actions_;
  std::vector<unsigned char> successors_, next_actions_;
  ColumnBuffer<TransitionDataset::Row> rows_;  // one per slot, which is an upper bound
  int64_t row_count_ = 0;
  std::vector<Episode> episodes_;
  std::vector<uint8_t> next_action_valid_;
  bool next_actions_given_ = false;
};

}  // namespace rl_training
