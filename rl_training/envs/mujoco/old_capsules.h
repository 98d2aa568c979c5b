#pragma once
#include <mujoco/mujoco.h>

namespace rl_training {

// Gives the bodies of a model the masses and inertias that MuJoCo before version 2.1.2 derived from
// capsules. Those versions replaced a capsule by a cylinder of the same radius that reaches half a
// radius into each end cap, which has less mass than the capsule. All shapes of the moving bodies
// must be capsules with MuJoCo's default density. `total_mass` is the mass in kg to which the model
// is scaled; 0 if the densities determine it.
void use_old_capsules(mjModel& model, double total_mass);

}  // namespace rl_training
