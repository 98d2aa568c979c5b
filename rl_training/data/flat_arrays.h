#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rl_training/data/space.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// A dataset as one array for each thing with an entry for each row, as flat files store it.
struct FlatArrays {
  int64_t rows = 0, obs_dim = 0, action_dim = 0;
  bool discrete = false;  // `choices` in place of `actions`
  std::vector<float> obs, next_obs, actions, rewards;
  std::vector<uint8_t> terminals, timeouts;
  // Empty unless an episode ends without a flag: it could not be told from the next one otherwise.
  std::vector<uint8_t> episode_starts;
  // Empty where the dataset has none and the order of the rows tells them all.
  std::vector<float> next_actions;
  std::vector<uint8_t> next_action_valid;  // also of `next_choices`
  std::vector<int64_t> choices, next_choices;

  // Actions are scaled from [-1, 1] to `bounds`; without them they stay as they are.
  FlatArrays(const TransitionDataset& dataset, const Space* bounds);

  // Adds them to a file under the names that all flat formats share.
  template <class File>
  void write_to(File& file) const;
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
  if (!next_action_valid.empty()) {
    add_actions("next_actions", next_actions, next_choices);
    file.add_flags("next_action_valid", next_action_valid);
  }
  if (!episode_starts.empty()) file.add_flags("episode_starts", episode_starts);
}

// The actions of some rows in the same units.
void append_actions(const TransitionDataset& dataset, const Space* bounds, const float* values,
                    std::vector<float>& out);

}  // namespace rl_training
