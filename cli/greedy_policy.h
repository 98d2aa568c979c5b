#pragma once
#include "rl_training/envs/rollout.h"
#include "rl_training/experiment/trained_policy.h"

namespace rl_training {

// Converts a trained policy to the form that rollouts need. `trained` must outlive the result.
Policy greedy_policy(TrainedPolicy& trained);

// Creates the environment `env_id` or, if it is "", the environment of the run. Throws
// Error{config} if the policy does not match `env_id`, or Error{checkpoint} if the policy does not
// match the run's own environment. If the run has no environment, throws Error{config} whose
// message contains `purpose`.
std::unique_ptr<Environment> environment_for(const TrainedPolicy& trained,
                                             const std::string& env_id, const std::string& purpose);

}  // namespace rl_training
