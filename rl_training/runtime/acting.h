#pragma once
#include "rl_training/algorithms/algorithm.h"
#include "rl_training/data/normalizer.h"
#include "rl_training/envs/vector_env.h"

namespace rl_training {

// Converts between environments and tensors.

// [count, ...] in the dtype of the observation space, to be filled by `normalized_obs`.
torch::Tensor obs_buffer(const VectorEnv& envs);
void normalized_obs(const VectorEnv& envs, const ObsNormalizer& normalizer, torch::Tensor& obs);
// Steps with actions as `Algorithm::act` returns them.
void step_with(VectorEnv& envs, const torch::Tensor& actions);

}  // namespace rl_training
