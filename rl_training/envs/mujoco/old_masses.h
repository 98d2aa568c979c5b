#pragma once
#include <mujoco/mujoco.h>

namespace rl_training {

// How a model's masses follow from its shapes.
struct OldMasses {
  double density = 1000;  // of all moving shapes, in kg/m^3
  double total = 0;       // mass in kg to which the model is scaled; 0: not scaled
};

// Gives the bodies of a model the masses and inertias of MuJoCo before version 2.1.2, with which
// D4RL's datasets were recorded. Those versions replaced a capsule by a cylinder of the same radius
// that reaches half a radius into each end cap, which has less mass than the capsule. The shapes of
// moving bodies must be capsules and spheres.
void use_old_masses(mjModel& model, const OldMasses& masses);

}  // namespace rl_training
