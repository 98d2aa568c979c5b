#pragma once
#include <memory>

#include "rl_training/envs/environment.h"

namespace rl_training {

// LunarLanderContinuous-v3 and LunarLander-v3: land on a pad with a main and two side engines,
// which are throttled, or fired one at a time: none (0), left (1), main (2) or right (3). Follows
// Gymnasium's rules on Box2D 2.4. Gymnasium uses 2.3, which solves joints differently, so the task
// is the same but trajectories differ.
enum class LanderEngines { continuous, discrete };
inline const char* lunar_lander_id(LanderEngines engines) {
  return engines == LanderEngines::discrete ? "LunarLander-v3" : "LunarLanderContinuous-v3";
}

// Only in builds with RL_TRAINING_BOX2D.
//
// Box2D keeps state that cannot be read or set (warm starts of contacts and joints). A checkpoint
// therefore stores the start of the episode and the actions since, and replays them on load.
std::unique_ptr<Environment> make_lunar_lander(LanderEngines engines, const char* summary);

}  // namespace rl_training
