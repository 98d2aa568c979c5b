#pragma once
#include <memory>

#include "rl_training/envs/environment.h"

namespace rl_training {

// LunarLanderContinuous-v3 and LunarLander-v3: land on a pad with a main and two side engines,
// which are throttled, or fired one at a time: none (0), left (1), main (2) or right (3). By
// Gymnasium's rules, on Box2D 2.4; Gymnasium uses 2.3, whose joints are solved otherwise, so that
// the task is the same but no trajectory is.
enum class LanderEngines { continuous, discrete };
inline const char* lunar_lander_id(LanderEngines engines) {
  return engines == LanderEngines::discrete ? "LunarLander-v3" : "LunarLanderContinuous-v3";
}

// Only in builds with RL_TRAINING_BOX2D.
//
// Box2D keeps state that cannot be read or set (warm starts of contacts and joints). What is saved
// is therefore how the episode began and the actions since; loading plays them again.
std::unique_ptr<Environment> make_lunar_lander(LanderEngines engines, const char* summary);

}  // namespace rl_training
