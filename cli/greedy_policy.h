#pragma once
#include "rl_training/envs/rollout.h"
#include "rl_training/experiment/trained_policy.h"

namespace rl_training {

// A trained policy in the form that rollouts need. `trained` must outlive it.
Policy greedy_policy(TrainedPolicy& trained);

// The environment of --env, or that of the run if it is "". Throws Error{config} if the policy does
// not match it; `purpose` names what needs the environment.
std::unique_ptr<Environment> environment_for(const TrainedPolicy& trained,
                                             const std::string& env_id, const std::string& purpose);

}  // namespace rl_training
