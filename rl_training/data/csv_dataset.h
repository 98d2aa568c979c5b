#pragma once
#include <string>
#include <vector>

#include "rl_training/data/csv_table.h"
#include "rl_training/data/key_map.h"
#include "rl_training/data/logged_steps.h"

namespace rl_training {

// Which columns of a table hold what. In a map of names, `x*` stands for x0, x1, x2, ...; without a
// word on a role, the columns named like it are taken (obs0, obs1, ..., or obs). A column `done` is
// never taken for terminations alone without a warning, even where the map says so.
struct CsvColumns {
  std::vector<int64_t> obs, action, next_obs;
  int64_t reward = -1, terminated = -1, done = -1, timeout = -1, episode = -1, episode_end = -1;

  // Unknown columns: Error{data}.
  static CsvColumns find(const CsvTable& table, const KeyMap& map);
};

// One step per row, in order. An episode ends at a flag and where the column `episode` changes.
LoggedSteps read_csv_steps(const std::string& path, const DatasetReadOptions& options,
                           SandboxOutput& output);

}  // namespace rl_training
