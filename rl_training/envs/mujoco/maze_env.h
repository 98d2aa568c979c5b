#pragma once
#include <functional>
#include <memory>

#include "rl_training/envs/environment.h"
#include "rl_training/envs/maze_tasks.h"

namespace rl_training {

// Makes environments of one maze. The compiled model is made with the first environment and shared
// by all of them. Only in builds with RL_TRAINING_MUJOCO.
std::function<std::unique_ptr<Environment>()> maze_maker(const MazeTask& task);

}  // namespace rl_training
