#pragma once
#include <functional>
#include <memory>
#include <string>

#include "rl_training/envs/environment.h"

namespace rl_training {

// Returns a function that creates environments of one MuJoCo task with Gymnasium's v4 or v5 rules.
// The first environment compiles the model; all environments share it. Available only in builds
// with RL_TRAINING_MUJOCO.
std::function<std::unique_ptr<Environment>()> mujoco_maker(const std::string& id,
                                                           const std::string& summary);

}  // namespace rl_training
