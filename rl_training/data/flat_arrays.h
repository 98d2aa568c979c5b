#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rl_training/data/space.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// How flat arrays mark the ends of episodes.
// - flags: `terminals` and `timeouts` mark the last step of an episode. If any episode ends without
//   either flag, `episode_starts` marks the first step of every episode.
// - last_observations: an extra row with reward 0 stores the last observation of an episode.
//   `timeouts` marks only these extra rows. The next observation of every step that does not
//   terminate is therefore the observation of the following row. Readers that skip the rows marked
//   by `timeouts`, such as D4RL's qlearning_dataset(), get exactly the transitions. After a
//   terminal step there is no extra row, except at the end of the file. `truncations` contains the
//   time-out flags of the steps.
enum class FlatEnds { flags, last_observations };

// Throws Error{config} if the observations are images, because only vectors can be written to
// files.
void check_writable(const TransitionDataset& dataset);

// A dataset as flat files store it: one array per quantity, with one entry per row.
struct FlatArrays {
  int64_t rows = 0, obs_dim = 0, action_dim = 0;
  bool discrete = false;  // if true, `choices` is used instead of `actions`
  std::vector<float> obs, next_obs, actions, rewards;
  std::vector<uint8_t> terminals, timeouts;
  std::vector<uint8_t> truncations;  // only with FlatEnds::last_observations
  // Set only with FlatEnds::flags, and only if an episode ends without a flag. Without this array,
  // readers would merge such an episode with the next one.
  std::vector<uint8_t> episode_starts;
  // `next_actions`, `next_action_valid` and `next_choices` are empty if the dataset has no next
  // actions (with_known_next_actions).
  std::vector<float> next_actions;
  std::vector<uint8_t> next_action_valid;  // 1 where the next action is known
  std::vector<int64_t> choices, next_choices;

  // Scales actions from [-1, 1] to `bounds`. If `bounds` is null, actions are not scaled.
  FlatArrays(const TransitionDataset& dataset, const Space* bounds, FlatEnds ends);

  // Adds the arrays to a file under the names that all flat formats share.
  template <class File>
  void write_to(File& file) const;

 private:
  void append_row(const TransitionDataset& dataset, const Space* bounds, int64_t row);
  void append_last_observation(const TransitionDataset& dataset, const Space* bounds,
                               int64_t last_row);
};

template <class File>
void FlatArrays::write_to(File& file) const {
  const std::array<int64_t, 1> vector = {rows};
  const std::array<int64_t, 2> obs_shape = {rows, obs_dim}, action_shape = {rows, action_dim};
  const auto floats = [](const std::vector<float>& values) {
    return std::span<const float>(values);
  };
  const auto add_actions = [&](const char* key, const std::vector<float>& values,
                               const std::vector<int64_t>& numbers) {
    if (discrete) {
      file.add(key, vector, std::span<const int64_t>(numbers));
    } else {
      file.add(key, action_shape, floats(values));
    }
  };
  file.add("observations", obs_shape, floats(obs));
  add_actions("actions", actions, choices);
  file.add("rewards", vector, floats(rewards));
  file.add("next_observations", obs_shape, floats(next_obs));
  file.add_flags("terminals", terminals);
  file.add_flags("timeouts", timeouts);
  if (!truncations.empty()) file.add_flags("truncations", truncations);
  if (!next_action_valid.empty()) {
    add_actions("next_actions", next_actions, next_choices);
    file.add_flags("next_action_valid", next_action_valid);
  }
  if (!episode_starts.empty()) file.add_flags("episode_starts", episode_starts);
}

// Adds next actions (TransitionDataset::with_next_actions) if the action after the last row of any
// episode is known; otherwise returns the dataset unchanged. No row of the dataset contains that
// action, so a file without next actions would lose it.
TransitionDataset with_known_next_actions(const TransitionDataset& dataset);

// Appends the action `values` to `out`, scaled in the same way as in FlatArrays.
void append_actions(const TransitionDataset& dataset, const Space* bounds, const float* values,
                    std::vector<float>& out);

}  // namespace rl_training
