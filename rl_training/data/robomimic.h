#pragma once
#include <string>

#include "rl_training/data/logged_steps.h"

namespace rl_training {

// Reads an HDF5 file of robomimic: data/demo_0, data/demo_1, ... in the order of their numbers.
// Each demonstration has actions, rewards, dones, obs/<name> and next_obs/<name>. The group `mask`
// is ignored.
// - All vectors obs/<name> are concatenated in the order of their names. Images are skipped with a
//   warning. A map of names, such as obs=object,robot0_eef_pos, selects some of the arrays. If the
//   file has no obs, `states` is used.
// - A demonstration ends at the first step whose flag in `dones` is set. This step is treated as a
//   termination, with a warning. Later steps are omitted. A demonstration without a set flag ends
//   with a time-out.
// - Missing rewards are set to zero, with a warning.
LoggedSteps read_robomimic_steps(const std::string& path, const DatasetReadOptions& options,
                                 SandboxOutput& output);

}  // namespace rl_training
