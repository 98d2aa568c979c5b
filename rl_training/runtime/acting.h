#pragma once
#include "rl_training/algorithms/algorithm.h"
#include "rl_training/data/normalizer.h"
#include "rl_training/envs/vector_env.h"

namespace rl_training {

// Functions that copy observations and actions between environments and tensors.

// An uninitialised tensor with one row per environment, in the dtype of the observation space. Pass
// it to `normalized_obs`, which writes the normalised observations to it.
torch::Tensor obs_buffer(const VectorEnv& envs);
void normalized_obs(const VectorEnv& envs, const ObsNormalizer& normalizer, torch::Tensor& obs);
// Steps all environments. `actions` has the form that `Algorithm::act` returns.
void step_with(VectorEnv& envs, const torch::Tensor& actions);

}  // namespace rl_training
