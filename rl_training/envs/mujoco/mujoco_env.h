#pragma once
#include <functional>
#include <memory>
#include <string>

#include "rl_training/envs/environment.h"

namespace rl_training {

// Makes environments of one MuJoCo task by Gymnasium's v4 or v5 rules. The compiled model is loaded
// with the first environment and shared by all of them. Only in builds with RL_TRAINING_MUJOCO.
std::function<std::unique_ptr<Environment>()> mujoco_maker(const std::string& id,
                                                           const std::string& summary);

}  // namespace rl_training
