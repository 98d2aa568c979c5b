#pragma once
#include <string>
#include <vector>

#include "rl_training/experiment/trained_policy.h"

namespace rl_training {

// Networks ("actor", "critics") and "normalizer" that a new run copied from another one. `left`
// lists those of the new run that the other lacks or has in other sizes.
struct WarmStart {
  std::string checkpoint;
  std::vector<std::string> taken, left;
};

// Copies networks and normaliser of a checkpoint into a new policy, each only if all its arrays
// match. Optimisers, temperatures and random streams are not copied. A target network that the
// checkpoint lacks is copied from its network. Throws Error{config} if no network matches.
WarmStart start_from(const Checkpoint& checkpoint, TrainedPolicy& policy);

}  // namespace rl_training
