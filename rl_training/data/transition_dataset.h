#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rl_training/data/column.h"

namespace rl_training {

// Rows [first_row, first_row + rows) of a dataset, in the order in which they happened.
struct Episode {
  int64_t first_row = 0, rows = 0;
};

// Logged transitions. A slot holds one observation and the action taken there. An episode of T
// steps fills T + 1 slots side by side, so the successor of a row is the observation of the next
// slot and never a copy. Nothing changes after building; copies share the columns.
class TransitionDataset {
 public:
  TransitionDataset() = default;  // no rows

  int64_t rows() const { return rows_.size(); }
  int64_t obs_dim() const { return obs_dim_; }
  int64_t action_dim() const { return action_dim_; }
  std::span<const Episode> episodes() const { return episodes_.span(); }

  const float* obs(int64_t row) const { return obs_.data() + rows_[row].slot * obs_dim_; }
  const float* next_obs(int64_t row) const { return obs(row) + obs_dim_; }
  const float* action(int64_t row) const { return actions_.data() + rows_[row].slot * action_dim_; }
  float reward(int64_t row) const { return rows_[row].reward; }
  bool terminated(int64_t row) const { return rows_[row].terminated != 0; }
  bool truncated(int64_t row) const { return rows_[row].truncated != 0; }

  // Whether next actions are part of the data: they came with it or were asked for.
  bool has_next_actions() const { return next_actions_kind_ != NextActions::none; }
  // The given one, or else what the order of the rows tells; zeros where it is not valid.
  const float* next_action(int64_t row) const {
    if (rows_[row].next_action_valid == 0) return no_action_.data();
    if (next_actions_kind_ == NextActions::given) return next_actions_.data() + row * action_dim_;
    return action(row) + action_dim_;
  }
  bool next_action_valid(int64_t row) const { return rows_[row].next_action_valid != 0; }
  // The next action is the one of the following row; the last row of an episode has none, unless
  // the action that followed it is known. A dataset that came with next actions keeps those.
  TransitionDataset with_next_actions() const;
  // Only the rows whose next action is known, or not needed because the task ended there. An
  // episode that loses an inner row becomes two.
  TransitionDataset where_next_action_is_known() const;
  // One for each row, in place of the rewards; returns computed before are gone.
  TransitionDataset with_rewards(std::span<const float> rewards) const;
  // These episodes alone, in the given order; the columns are shared.
  TransitionDataset with_episodes(std::span<const int64_t> episodes) const;

  // Adds for each row the discounted sum of the rewards from it to the end of its episode. Nothing
  // is bootstrapped: where an episode was cut (time-out, dropped row, end of the file) the sum
  // stops there, as it does at a termination. It follows from the data, so the fingerprint stays.
  TransitionDataset with_mc_returns(double gamma) const;
  bool has_mc_returns() const { return mc_returns_.size() > 0; }
  float mc_return(int64_t row) const { return mc_returns_[row]; }

  // SHA-256 over everything above, by way of one for each part, so that changing one part does
  // not mean reading the others again.
  const std::string& fingerprint() const { return fingerprint_; }

  // Sum over its rows of gamma^t reward.
  double episode_return(int64_t episode, double gamma = 1.0) const;
  double mean_return() const;

  // Where slot, reward and flags of a row are kept, for prefetching.
  const void* row_address(int64_t row) const { return rows_.data() + row; }

 private:
  friend class DatasetBuilder;
  friend class DatasetColumns;
  friend class SlotDatasetBuilder;

  // All that a random access needs besides the vectors, in a quarter of a cache line.
  struct Row {
    int64_t slot = 0;
    float reward = 0;
    uint8_t terminated = 0, truncated = 0, next_action_valid = 0;
  };
  enum class NextActions { none, derived, given };
  struct PartHashes {
    std::string obs, actions, rewards;
    std::string next_actions;  // "": not computed yet
  };

  // Fills in all columns but the given next actions.
  TransitionDataset(int64_t obs_dim, int64_t action_dim, Column<float> obs, Column<float> actions,
                    Column<Row> rows, Column<Episode> episodes);
  // The last steps of building.
  void give_next_actions(std::vector<float> next_actions, const std::vector<uint8_t>& valid);
  void compute_hashes(bool with_next_actions);
  void update_fingerprint();

  std::string hash_obs() const;
  std::string hash_actions() const;
  std::string hash_rewards() const;
  std::string hash_next_actions() const;

  int64_t obs_dim_ = 0, action_dim_ = 0;
  Column<float> obs_, actions_, next_actions_, no_action_, mc_returns_;
  Column<Row> rows_;
  Column<Episode> episodes_;
  NextActions next_actions_kind_ = NextActions::none;
  PartHashes hashes_;
  std::string fingerprint_;
};

}  // namespace rl_training
