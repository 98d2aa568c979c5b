#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rl_training/data/space.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// How flat arrays mark the ends of episodes.
// - flags: by terminals, timeouts and, if an episode ends without a flag, episode_starts.
// - last_observations: the last observation of an episode is an extra row with reward 0, and
// `timeouts` marks those rows and no others. Every successor is therefore the following
// observation, and a reader that skips rows with timeouts, as D4RL's q-learning conversion does,
// gets exactly the transitions. After a terminal row, whose successor is masked, the extra row is
// written only at the end of the file. `truncations` holds the flags of the steps.
enum class FlatEnds { flags, last_observations };

// A dataset as one array for each thing with an entry for each row, as flat files store it.
struct FlatArrays {
  int64_t rows = 0, obs_dim = 0, action_dim = 0;
  bool discrete = false;  // `choices` instead of `actions`
  std::vector<float> obs, next_obs, actions, rewards;
  std::vector<uint8_t> terminals, timeouts;
  std::vector<uint8_t> truncations;  // last_observations only
  // Empty unless an episode ends without a flag: otherwise it would merge with the next one.
  std::vector<uint8_t> episode_starts;
  // Empty if the dataset has none and the order of the rows determines them.
  std::vector<float> next_actions;
  std::vector<uint8_t> next_action_valid;  // also of `next_choices`
  std::vector<int64_t> choices, next_choices;

  // Actions are scaled from [-1, 1] to `bounds`, or not scaled if there are none.
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

// Makes next actions part of the data if they contain more than the order of the rows, that is, if
// the action after the last row of an episode is known although that step is not part of the data.
TransitionDataset with_known_next_actions(const TransitionDataset& dataset);

// The actions of some rows in the same units.
void append_actions(const TransitionDataset& dataset, const Space* bounds, const float* values,
                    std::vector<float>& out);

}  // namespace rl_training
