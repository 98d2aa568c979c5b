#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rl_training/data/column.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/data/space.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// What happens to a step that ends by time-out. `drop` removes it like D4RL's q-learning
// conversion, which also uses observations[i + 1] as every successor and loses the last row. `keep`
// keeps it as non-terminal if its true successor is known.
enum class TimeoutPolicy { drop, keep };

struct DatasetReadOptions {
  // Action space of the file; absent: continuous actions already in [-1, 1].
  const Space* bounds = nullptr;
  std::optional<TimeoutPolicy> timeout_policy;  // absent: drop for d4rl, keep for the others
  int64_t episode_length = 0;                   // time limit of files that mark none; 0: unknown
  bool allow_nonfinite = false;                 // accept NaN and infinity
  std::string keys;                             // names in the file, see key_map.h
  bool find_warnings = false;                   // look for suspicious data while reading
};

// A possible problem of a dataset that can be loaded.
struct DatasetWarning {
  std::string code, message;
  std::optional<int64_t> row;

  std::string text() const;  // "code: message (row 7)"
};

// The steps of a file before they become transitions.
struct LoggedSteps {
  // Flags of a slot.
  static constexpr uint8_t kTerminal = 1, kTimeout = 2;
  static constexpr uint8_t kLast = 4;           // last step of its episode according to the file
  static constexpr uint8_t kBreak = 8;          // no flag, but the next observation does not follow
  static constexpr uint8_t kOwnSuccessor = 16;  // its true successor is in `successors`
  static constexpr uint8_t kObservationOnly = 32;  // not a step: the last observation of an episode
  static constexpr uint8_t kNextActionValid = 64;
  // Without any of these flags, the successor is the following slot, if there is one.
  static constexpr uint8_t kAnyEnd = kTerminal | kTimeout | kLast | kBreak | kObservationOnly;

  std::string file;
  int64_t obs_dim = 0, action_dim = 0;
  // Above 0: the action of a slot is the index of one of this many discrete actions.
  int64_t categories = 0;
  // Each slot has an observation, an action, a reward and marks.
  Column<float> obs, actions;
  Column<double> rewards;
  Column<uint8_t> marks;
  Column<float> successors;    // of the steps marked so, in order
  Column<float> next_actions;  // for each slot, or empty
  // Writable memory of observations and actions for `capacity` slots; 0: none.
  ColumnBuffer<float> obs_buffer, action_buffer;
  int64_t capacity = 0;
  bool in_place = false;  // observations are in the caller's memory and are not moved
  bool has_timeouts = false, has_next_observations = false;
  // The file was written by this program: `drop` removes only time-outs without a last observation,
  // because all other successors are known.
  bool true_successors = false;
  std::vector<std::string> observation_names, action_names;  // empty: unknown
  std::vector<DatasetWarning> warnings;

  int64_t slots() const { return marks.size(); }
  bool has_next_actions() const { return next_actions.size() > 0; }
  bool is(int64_t slot, uint8_t any_of) const { return (marks[slot] & any_of) != 0; }
  // Whether the episode ends after this slot.
  bool ends(int64_t slot) const {
    return is(slot, kTerminal | kTimeout | kLast | kBreak | kObservationOnly) ||
           slot + 1 == slots() || is(slot + 1, kObservationOnly);
  }
};

// A reader of one kind of file, for use in a sandbox only. Large arrays are stored in the output's
// memory.
using StepReader = std::function<LoggedSteps(SandboxOutput& output)>;

// Runs a reader of `path` in a child process (sandbox.h) and maps the steps it returns.
LoggedSteps read_steps_in_sandbox(const std::string& path, const StepReader& reader);

// The usable rows under a policy. The row before a dropped one keeps the dropped row's action as
// its next action. Observations and actions are shared with `steps`; if rows need separate
// successors, slots for these are inserted, in the same memory if there is space, otherwise in
// `memory`, which also holds the rows. Observations that are `in_place` are not moved; their
// separate successors are stored elsewhere. `steps` must not be used afterwards.
TransitionDataset make_transitions(LoggedSteps steps, TimeoutPolicy policy, ArrayMemory& memory);

// The same without changing the steps.
TransitionDataset make_transitions(const LoggedSteps& steps, TimeoutPolicy policy);

}  // namespace rl_training
