#pragma once
#include <memory>

#include "rl_training/envs/environment.h"

namespace rl_training {

// LunarLanderContinuous-v3 and LunarLander-v3: land on a pad with one main and two side engines.
// Continuous actions set the power of the engines. A discrete action fires no engine (0), the left
// engine (1), the main engine (2) or the right engine (3). Both tasks follow Gymnasium's rules but
// use Box2D 2.4. Gymnasium uses Box2D 2.3, which solves joints differently, so trajectories differ.
enum class LanderEngines { continuous, discrete };
inline const char* lunar_lander_id(LanderEngines engines) {
  return engines == LanderEngines::discrete ? "LunarLander-v3" : "LunarLanderContinuous-v3";
}

// Available only in builds with RL_TRAINING_BOX2D.
//
// Box2D has internal state that cannot be read or set: the warm starts of contacts and joints. A
// checkpoint therefore stores the start of the episode and all its actions, and replays them on
// load.
std::unique_ptr<Environment> make_lunar_lander(LanderEngines engines, const char* summary);

}  // namespace rl_training
