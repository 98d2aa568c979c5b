#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "rl_training/data/column.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// Builds a dataset step by step.
class DatasetBuilder {
 public:
  DatasetBuilder(int64_t obs_dim, int64_t action_dim);

  // Starts an episode; one that is still open ends before it. Episodes without a step vanish.
  void begin_episode(std::span<const float> obs);
  // One step of the open episode; `terminated` or `truncated` closes it.
  void add(std::span<const float> action, float reward, std::span<const float> next_obs,
           bool terminated, bool truncated);
  // Ends the open episode, if there is one.
  void end_episode();
  // The same where the action that followed its last step is known, though that step
  // itself is not part of the data.
  void end_episode(std::span<const float> next_action);
  // Next actions that came with the data, for all rows in order, instead of derived ones.
  void give_next_actions(std::vector<float> next_actions, std::vector<uint8_t> valid);

  int64_t rows() const { return static_cast<int64_t>(rows_.size()); }
  // Whether `add` may follow without `begin_episode`.
  bool episode_open() const { return open_; }

  // An episode that is still open simply ends there.
  TransitionDataset build() &&;

 private:
  int64_t obs_dim_, action_dim_;
  bool open_ = false;
  std::vector<float> obs_, actions_, next_actions_;
  std::vector<TransitionDataset::Row> rows_;
  std::vector<Episode> episodes_;
  std::vector<uint8_t> next_action_valid_;
  bool next_actions_given_ = false;
};

// Builds a dataset over slots that lie in memory already (a mapped file, say), without a copy. The
// rows are put into `memory`.
class SlotDatasetBuilder {
 public:
  SlotDatasetBuilder(int64_t obs_dim, int64_t action_dim, Column<float> obs, Column<float> actions,
                     ArrayMemory& memory);

  // A step from this slot to the next one; inside an episode the slots must follow each other.
  void add(int64_t slot, float reward, bool terminated, bool truncated);
  // Ends the episode; `next_action_known`: the next slot's action followed the last step.
  void end_episode(bool next_action_known);
  void give_next_actions(std::vector<float> next_actions, std::vector<uint8_t> valid);

  TransitionDataset build() &&;

 private:
  TransitionDataset::Row& last_row() { return rows_.data[row_count_ - 1]; }

  int64_t obs_dim_, action_dim_;
  bool open_ = false;
  Column<float> obs_, actions_;
  std::vector<float> next_actions_;
  ColumnBuffer<TransitionDataset::Row> rows_;  // as many as there are slots, more than enough
  int64_t row_count_ = 0;
  std::vector<Episode> episodes_;
  std::vector<uint8_t> next_action_valid_;
  bool next_actions_given_ = false;
};

}  // namespace rl_training
