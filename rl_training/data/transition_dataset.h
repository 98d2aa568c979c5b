#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rl_training/data/batch_request.h"
#include "rl_training/data/column.h"
#include "rl_training/data/space.h"

namespace rl_training {

// Rows [first_row, first_row + rows) of a dataset, in chronological order.
struct Episode {
  int64_t first_row = 0, rows = 0;
};

// Logged transitions. A slot contains one observation and the action selected for it. An episode of
// T steps fills T + 1 consecutive slots, so the successor of a row is the observation of the next
// slot and needs no copy. If the observations are in the caller's memory, there is no space for the
// additional slot of each episode. The successor of the last row of each episode is then stored
// separately. A dataset is immutable once built; copies share the columns.
//
// Observations and actions are stored in the dtype of their space: float32 vectors, int64 discrete
// actions, uint8 images. Box actions are scaled to [-1, 1].
class TransitionDataset {
 public:
  TransitionDataset() = default;  // no rows

  int64_t rows() const { return rows_.size(); }
  const Space& obs_space() const { return obs_space_; }
  const Space& action_space() const { return action_space_; }
  int64_t obs_dim() const { return obs_space_.size(); }
  int64_t action_dim() const { return action_space_.size(); }
  std::span<const Episode> episodes() const { return episodes_.span(); }
  // Names of the elements of observations and actions, with units if known. Empty if unknown. Names
  // are not part of the fingerprint.
  const std::vector<std::string>& observation_names() const { return observation_names_; }
  const std::vector<std::string>& action_names() const { return action_names_; }
  TransitionDataset with_names(std::vector<std::string> observation_names,
                               std::vector<std::string> action_names) const;

  const unsigned char* obs_bytes(int64_t row) const {
    return obs_.data() + rows_[row].slot * obs_width_;
  }
  const unsigned char* next_obs_bytes(int64_t row) const {
    const uint64_t own = rows_[row].own_successor;
    return own == 0 ? obs_bytes(row) + obs_width_
                    : successors_.data() + static_cast<int64_t>(own - 1) * obs_width_;
  }
  const unsigned char* action_bytes(int64_t row) const {
    return actions_.data() + rows_[row].slot * action_width_;
  }
  // The same data as floats, only for float32 spaces.
  const float* obs(int64_t row) const { return as_floats(obs_bytes(row)); }
  const float* next_obs(int64_t row) const { return as_floats(next_obs_bytes(row)); }
  const float* action(int64_t row) const { return as_floats(action_bytes(row)); }
  // The action of a discrete action space.
  int64_t choice(int64_t row) const { return as_choice(action_bytes(row)); }
  // Element k of a continuous or discrete action.
  double action_value(int64_t row, int64_t k) const {
    return action_space_.is_discrete() ? static_cast<double>(choice(row)) : action(row)[k];
  }
  float reward(int64_t row) const { return rows_[row].reward; }
  bool terminated(int64_t row) const { return rows_[row].terminated != 0; }
  bool truncated(int64_t row) const { return rows_[row].truncated != 0; }
  // The row of the next step of the same episode, or -1 if `row` is its last row.
  int64_t following(int64_t row) const { return rows_[row].last != 0 ? -1 : row + 1; }

  // Whether next actions are part of the dataset: they were stored in the source or added by
  // with_next_actions().
  bool has_next_actions() const { return next_actions_kind_ != NextActions::none; }
  // The stored next action, or the action of the next slot. Zeros if the next action is unknown.
  const unsigned char* next_action_bytes(int64_t row) const {
    if (rows_[row].next_action_valid == 0) return no_action_.data();
    if (next_actions_kind_ == NextActions::given) return next_actions_.data() + row * action_width_;
    return action_bytes(row) + action_width_;
  }
  const float* next_action(int64_t row) const { return as_floats(next_action_bytes(row)); }
  int64_t next_choice(int64_t row) const { return as_choice(next_action_bytes(row)); }
  bool next_action_valid(int64_t row) const { return rows_[row].next_action_valid != 0; }
  // Adds next actions. The next action of a row is the action of the following row. The last row of
  // an episode has no next action, unless the action after the episode is known. Returns the
  // dataset unchanged if it already has next actions.
  TransitionDataset with_next_actions() const;
  // Retains only rows that terminate or whose next action is known. An episode that loses a row in
  // the middle becomes two episodes.
  TransitionDataset where_next_action_is_known() const;
  // Replaces the rewards, one per row, and discards the returns-to-go.
  TransitionDataset with_rewards(std::span<const float> rewards) const;
  // Retains only these episodes, in the given order, and discards the returns-to-go. The result
  // shares the observations and actions.
  TransitionDataset with_episodes(std::span<const int64_t> episodes) const;

  // Adds the return-to-go of each row: the discounted sum of rewards from the row to the end of its
  // episode. The sum does not bootstrap. If an episode was cut by a time-out, a dropped row or the
  // end of the file, the sum stops there, as at a termination. Episodes in which every reward is
  // `rule.failure_reward` are an exception (ReturnRule). The fingerprint does not change.
  TransitionDataset with_returns_to_go(const ReturnRule& rule) const;
  bool has_returns_to_go() const { return returns_to_go_.size() > 0; }
  float return_to_go(int64_t row) const { return returns_to_go_[row]; }

  // SHA-256 of observations, actions, rewards, flags, episodes and next actions. It is computed
  // from one hash per part. If only one part changes, the other parts need not be hashed again.
  const std::string& fingerprint() const { return fingerprint_; }

  // Discounted return: the sum of gamma^t * reward over the rows t = 0, 1, ... of the episode.
  double episode_return(int64_t episode, double gamma = 1.0) const;
  double mean_return() const;
  // The largest absolute value of all rewards.
  double largest_reward() const;

  // Address of a row's record (slot, reward and flags), for prefetching.
  const void* row_address(int64_t row) const { return rows_.data() + row; }
  // Addresses of the values of row 0. The values of consecutive rows are `kRowBytes` bytes apart.
  // Flags are 0 or 1.
  static constexpr int64_t kRowBytes = 16;
  const float* rewards() const { return &rows_.data()->reward; }
  const uint8_t* terminated_flags() const { return &rows_.data()->terminated; }
  const uint8_t* truncated_flags() const { return &rows_.data()->truncated; }

 private:
  friend class DatasetBuilder;
  friend class DatasetColumns;
  friend class SlotDatasetBuilder;

  // All data of a row except observations and actions. A record fills a quarter of a cache line, so
  // random access is fast.
  struct Row {
    int64_t slot : 40 = 0;
    // 0 if the next slot contains the successor. Otherwise 1 + the index in `successors_`.
    uint64_t own_successor : 24 = 0;
    float reward = 0;
    uint8_t terminated = 0, truncated = 0, next_action_valid = 0;
    uint8_t last = 0;  // last row of its episode
  };
  static_assert(sizeof(Row) == kRowBytes);
  enum class NextActions { none, derived, given };
  struct PartHashes {
    std::string obs, actions, rewards;
    std::string next_actions;  // "" if not computed yet
  };

  using Bytes = Column<unsigned char>;

  static const float* as_floats(const unsigned char* bytes) {
    return reinterpret_cast<const float*>(bytes);
  }
  static int64_t as_choice(const unsigned char* bytes);
  // Sets all columns except `successors_` and stored next actions.
  TransitionDataset(Space obs_space, Space action_space, Bytes obs, Bytes actions, Column<Row> rows,
                    Column<Episode> episodes);
  int64_t slots() const { return obs_.size() / obs_width_; }
  static void mark_last_rows(std::span<Row> rows, std::span<const Episode> episodes);
  // The builders call these functions last.
  void give_next_actions(std::vector<unsigned char> next_actions,
                         const std::vector<uint8_t>& valid);
  void compute_hashes(bool with_next_actions);
  void update_fingerprint();

  std::string hash_obs() const;
  std::string hash_actions() const;
  std::string hash_rewards() const;
  std::string hash_next_actions() const;

  std::vector<std::string> observation_names_, action_names_;
  Space obs_space_ = Space::unbounded(0), action_space_ = Space::unbounded(0);
  int64_t obs_width_ = 0, action_width_ = 0;  // bytes of one entry
  Bytes obs_, successors_, actions_, next_actions_, no_action_;
  Column<float> returns_to_go_;
  Column<Row> rows_;
  Column<Episode> episodes_;
  NextActions next_actions_kind_ = NextActions::none;
  PartHashes hashes_;
  std::string fingerprint_;
};

}  // namespace rl_training
