#pragma once
#include <memory>

#include "rl_training/envs/environment.h"

namespace rl_training {

// LunarLanderContinuous-v3: land on a pad with a main and two side engines. By Gymnasium's rules,
// on Box2D 2.4; Gymnasium uses 2.3, whose joints are solved otherwise, so that the task is the same
// but no trajectory is. Only in builds with RL_TRAINING_BOX2D.
//
// Box2D keeps state that cannot be read or set (warm starts of contacts and joints). What is saved
// is therefore how the episode began and the actions since; loading plays them again.
std::unique_ptr<Environment> make_lunar_lander();

}  // namespace rl_training
