#pragma once
#include <string>
#include <vector>

#include "rl_training/data/csv_table.h"
#include "rl_training/data/logged_steps.h"

namespace rl_training {

// Which columns of a table hold what: `role=column,column ...` with the roles obs, action, reward,
// terminated, timeout, episode, next_obs. `x*` stands for x0, x1, x2, ...
//   obs=angle,speed action=torque reward=r terminated=done timeout=cut episode=run
// Without a word on a role, the columns named like it are taken (obs0, obs1, ..., or obs).
struct CsvColumns {
  std::vector<int64_t> obs, action, next_obs;
  int64_t reward = -1, terminated = -1, timeout = -1, episode = -1;

  // Unknown roles and columns: Error{data}.
  static CsvColumns find(const CsvTable& table, const std::string& map);
};

// One step a row, in order. An episode ends at a flag and where the number in the column `episode`
// changes.
LoggedSteps read_csv_steps(const std::string& path, const DatasetReadOptions& options,
                           SandboxOutput& output);

}  // namespace rl_training
