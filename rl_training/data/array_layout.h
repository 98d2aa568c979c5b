#pragma once
#include <string>
#include <vector>

#include "rl_training/data/flat_layout.h"
#include "rl_training/data/key_map.h"
#include "rl_training/data/logged_steps.h"
#include "rl_training/data/mapped_arrays.h"

namespace rl_training {

// Layouts of arrays that other programs write, by name:
// - ogbench: `terminals` marks the last row of each trajectory, which is not a termination and has
//   no successor; there are no rewards. With `masks`, as its single-task versions have them, 0 is a
//   termination.
// - neorl: obs, action, reward, done, next_obs, and `index` with the rows where trajectories begin.
// - exorl: one episode; observation, action, reward, discount with one row more than there are
//   steps: action and reward of row t led to the observation of row t.
// - imitation: obs with one row more for each trajectory than acts and rews, which are split at
//   `indices`; `terminal` for each trajectory.
std::vector<std::string> array_layouts();

// The layout that these arrays identify unambiguously; "" if there is none.
std::string recognise_layout(ArraySource& file);

// Applies the map to `keys` and `arrays`; the rest of `keys` is unchanged. Throws Error{data} if
// the layout or an array is missing.
std::vector<DatasetWarning> apply_key_map(const KeyMap& map, MappedArrays& arrays, FlatKeys& keys);

}  // namespace rl_training
