#pragma once
#include <functional>
#include <memory>

#include "rl_training/envs/environment.h"
#include "rl_training/envs/maze_tasks.h"

namespace rl_training {

// Returns a function that creates environments of one maze. The first environment compiles the
// model; all environments share it. Available only in builds with RL_TRAINING_MUJOCO.
std::function<std::unique_ptr<Environment>()> maze_maker(const MazeTask& task);

}  // namespace rl_training
