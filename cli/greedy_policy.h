#pragma once
#include "rl_training/envs/rollout.h"
#include "rl_training/experiment/trained_policy.h"

namespace rl_training {

// A trained policy in the form that environments are played with. `trained` must outlive it.
Policy greedy_policy(TrainedPolicy& trained);

}  // namespace rl_training
