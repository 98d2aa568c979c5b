#pragma once
#include <string>
#include <vector>

#include "rl_training/data/csv_table.h"
#include "rl_training/data/key_map.h"
#include "rl_training/data/logged_steps.h"

namespace rl_training {

// Indices of the columns for each role (key_map.h). If a role has no column, its vector is empty or
// its index is -1. In a map of names, `x*` means x0, x1, x2, ... A role that is not in the map uses
// the columns with its own name (obs0, obs1, ..., or obs) or, for some roles, a synonym (rewards,
// timeouts, traj, ...). If terminations are read from a column with a name such as `done`
// (is_done_name), the reader always warns, even if the map assigns this column to `terminated`.
struct CsvColumns {
  std::vector<int64_t> obs, action, next_obs;
  int64_t reward = -1, terminated = -1, done = -1, timeout = -1, episode = -1, episode_end = -1;

  // Throws Error{data} for unknown columns.
  static CsvColumns find(const CsvTable& table, const KeyMap& map);
};

// Reads one step per row, in order. An episode ends at each row where a flag (terminated, done,
// timeout or episode_end) is set. A new episode begins at each row whose value in the column
// `episode` differs from that of the previous row.
LoggedSteps read_csv_steps(const std::string& path, const DatasetReadOptions& options,
                           SandboxOutput& output);

}  // namespace rl_training
