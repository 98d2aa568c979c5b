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

// A view of one observation or action in the dtype of its space. Accepts a vector, array or span.
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
  // Observations and actions are float vectors. Actions lie in [-1, 1].
  DatasetBuilder(int64_t obs_dim, int64_t action_dim)
      : DatasetBuilder(Space::unbounded(obs_dim), Space::unit_box(action_dim)) {}

  // Ends the open episode, if there is one, and starts a new episode. Episodes without steps are
  // discarded.
  void begin_episode(SpaceValue obs);
  // Adds a step to the open episode. The episode ends if `terminated` or `truncated` is true.
  void add(SpaceValue action, float reward, SpaceValue next_obs, bool terminated, bool truncated);
  // Ends the open episode, if there is one.
  void end_episode();
  // Ends the open episode. `next_action` is the action taken after its last step. The step that
  // this action started is not part of the data.
  void end_episode(SpaceValue next_action);
  // Sets the next actions of all rows, in row order. Without this call, the next action of a row is
  // the action of the following row or the argument of end_episode().
  void give_next_actions(SpaceValue next_actions, std::vector<uint8_t> valid);

  int64_t rows() const { return static_cast<int64_t>(rows_.size()); }
  // Whether add() may be called without calling begin_episode() first.
  bool episode_open() const { return open_; }

  // Ends the open episode and returns the dataset.
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

// Builds a dataset from slots that are already in memory, for example in a mapped file. A slot is
// one observation and one action. The slots are not copied. The row records are stored in `memory`.
class SlotDatasetBuilder {
 public:
  SlotDatasetBuilder(Space obs_space, Space action_space, Column<unsigned char> obs,
                     Column<unsigned char> actions, ArrayMemory& memory);

  // Adds a step from this slot to the next slot. The slots of an episode must be consecutive.
  void add(int64_t slot, float reward, bool terminated, bool truncated);
  // Limits the number of calls of give_successor(): indices of successors have 24 bits.
  static constexpr int64_t kMostSuccessors = (int64_t{1} << 24) - 1;
  // Sets the next observation of the step that was added last. Call this if the next slot does not
  // contain this observation.
  void give_successor(SpaceValue next_obs);
  // Ends the episode. `next_action_known` may be true only if the next slot contains the action
  // that followed the last step.
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
  ColumnBuffer<TransitionDataset::Row> rows_;  // one element per slot; only the first row_count_
                                               // are used
  int64_t row_count_ = 0;
  std::vector<Episode> episodes_;
  std::vector<uint8_t> next_action_valid_;
  bool next_actions_given_ = false;
};

}  // namespace rl_training
