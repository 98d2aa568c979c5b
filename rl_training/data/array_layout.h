#pragma once
#include <string>
#include <vector>

#include "rl_training/data/flat_layout.h"
#include "rl_training/data/key_map.h"
#include "rl_training/data/logged_steps.h"
#include "rl_training/data/mapped_arrays.h"

namespace rl_training {

// Names of the known array layouts of other programs:
// - ogbench: `terminals` marks the last row of each trajectory. That row is not a termination and
//   has no next observation. Rewards may be missing. The single-task versions also have `masks`,
//   which is 0 at terminations.
// - neorl: obs, action, reward, done, next_obs, and `index`, which lists the rows where
//   trajectories begin.
// - exorl: a file contains one episode in the arrays observation, action, reward and discount. If
//   the episode has n steps, each array has n + 1 rows. Row t contains observation t and the action
//   and reward of the step that led to this observation.
// - imitation: `indices` lists the steps at which acts and rews are split into trajectories. obs
//   has one row more than acts in each trajectory, and `terminal` has one flag per trajectory.
std::vector<std::string> array_layouts();

// Returns the first layout that matches the arrays of the file, or "" if no layout matches.
std::string recognise_layout(ArraySource& file);

// Replaces the entries of `keys` for the roles in the map and in its layout; other entries do not
// change. Adds to `arrays` the derived arrays that the map requires. Throws Error{data} if the
// layout is unknown or an array is missing.
std::vector<DatasetWarning> apply_key_map(const KeyMap& map, MappedArrays& arrays, FlatKeys& keys);

}  // namespace rl_training
