#pragma once
#include <string>

#include "rl_training/data/logged_steps.h"

namespace rl_training {

// An HDF5 file of robomimic: data/demo_0, data/demo_1, ... in the order of their numbers, each with
// actions, rewards, dones, obs/<name> and next_obs/<name>. A group `mask`, if any, is not needed.
// - All obs/<name> that are vectors are concatenated in the order of their names; images are
//   skipped with a warning. A map of names (obs=object,robot0_eef_pos) selects some. Without obs,
//   `states` is used.
// - A demonstration ends at its first `dones`, which is treated as termination with a warning;
//   later steps are omitted. A demonstration without `dones` ends by time-out.
// - Missing rewards are zero, with a warning.
LoggedSteps read_robomimic_steps(const std::string& path, const DatasetReadOptions& options,
                                 SandboxOutput& output);

}  // namespace rl_training
