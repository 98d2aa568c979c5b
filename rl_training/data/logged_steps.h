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

// How to treat a step at which a time-out ends the episode. `drop` removes the step, as D4RL's
// qlearning_dataset() does. Like that function, `drop` uses observations[i + 1] as the next
// observation of each remaining row i, so it also removes the last row of the file. (In files from
// save_d4rl_dataset(), `drop` removes fewer rows, see LoggedSteps::true_successors.) `keep` retains
// the time-out step as non-terminal if its true next observation is known.
enum class TimeoutPolicy { drop, keep };

struct DatasetReadOptions {
  // Action space of the file. If null, continuous actions are not scaled; training then needs them
  // in [-1, 1].
  const Space* bounds = nullptr;
  std::optional<TimeoutPolicy> timeout_policy;  // if empty, drop for d4rl and keep otherwise
  int64_t episode_length = 0;    // time limit for files that do not mark time-outs; 0 if unknown
  bool allow_nonfinite = false;  // accept NaN and infinity
  std::string keys;              // names in the file, see key_map.h
  bool find_warnings = false;    // look for suspicious data while reading
};

// A possible problem in a dataset that can nevertheless be loaded.
struct DatasetWarning {
  std::string code, message;
  std::optional<int64_t> row;

  std::string text() const;  // "code: message (row 7)"
};

// The steps of a file before they become transitions. A slot has an observation, an action, a
// reward and marks. It contains one step, or only the last observation of an episode.
struct LoggedSteps {
  // The bits of `marks`. kTerminal marks a step that ended the task. kTimeout marks a step at which
  // the time limit was reached.
  static constexpr uint8_t kTerminal = 1, kTimeout = 2;
  static constexpr uint8_t kLast = 4;              // last step of its episode according to the file
  static constexpr uint8_t kBreak = 8;             // no end flag; next slot is not the successor
  static constexpr uint8_t kOwnSuccessor = 16;     // the true successor is in `successors`
  static constexpr uint8_t kObservationOnly = 32;  // last observation of an episode, not a step
  static constexpr uint8_t kNextActionValid = 64;  // the entry in `next_actions` is known
  // The observation after a slot without these marks is in the following slot.
  static constexpr uint8_t kAnyEnd = kTerminal | kTimeout | kLast | kBreak | kObservationOnly;

  std::string file;
  int64_t obs_dim = 0, action_dim = 0;
  // The number of discrete actions, or 0 if actions are continuous. A discrete action of a slot is
  // an index below this number.
  int64_t categories = 0;
  // The columns obs, actions, rewards and marks have one entry per slot.
  Column<float> obs, actions;
  Column<double> rewards;
  Column<uint8_t> marks;
  Column<float> successors;    // next observations of the kOwnSuccessor steps, in order
  Column<float> next_actions;  // one per slot, or empty
  // Writable memory behind `obs` and `actions`, with space for `capacity` slots. If `capacity` is
  // 0, there is no such memory.
  ColumnBuffer<float> obs_buffer, action_buffer;
  int64_t capacity = 0;
  bool in_place = false;  // `obs` is read-only memory that the source lent (ArraySource::lend)
  bool has_timeouts = false, has_next_observations = false;
  // True for files that save_d4rl_dataset() wrote. The successors of all their steps are known, and
  // TimeoutPolicy::drop removes only time-out steps without a kObservationOnly slot after them.
  bool true_successors = false;
  std::vector<std::string> observation_names, action_names;  // empty if unknown
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

// A reader of one kind of file. Call it only in a sandbox. It stores large arrays in the memory of
// `output`.
using StepReader = std::function<LoggedSteps(SandboxOutput& output)>;

// Runs a reader of `path` in a child process (sandbox.h) and maps its result into memory.
LoggedSteps read_steps_in_sandbox(const std::string& path, const StepReader& reader);

// Returns the steps as transitions. Removes the steps that this TimeoutPolicy drops, and
// non-terminal steps whose next observation is unknown. If `next_actions` is empty, a retained step
// takes its next action from the following step of its episode, even if that step is removed.
//
// The dataset uses the memory of `steps` where possible. Only the row records and discrete actions,
// which are converted to int64, always go to `memory`. Successors that are not taken from the next
// slot are stored as follows:
// - If `in_place` is true and there are at most SlotDatasetBuilder::kMostSuccessors of them, they
//   are stored separately, and no slot moves.
// - Otherwise, an additional slot is inserted for each of them. The slots are moved within
//   `obs_buffer` and `action_buffer` if `capacity` suffices. If not, all slots are copied to
//   `memory`.
//
// Do not use copies of `steps` afterwards, because they share the buffers.
TransitionDataset make_transitions(LoggedSteps steps, TimeoutPolicy policy, ArrayMemory& memory);

// Like the function above, but leaves `steps` unchanged and allocates memory on the heap.
TransitionDataset make_transitions(const LoggedSteps& steps, TimeoutPolicy policy);

}  // namespace rl_training
