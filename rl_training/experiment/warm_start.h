#pragma once
#include <string>
#include <vector>

#include "rl_training/experiment/trained_policy.h"

namespace rl_training {

// What a new run took from another one, by the names of networks ("actor", "critics") and
// "normalizer"; `left` are those of the new run that the other has not, or in other sizes.
struct WarmStart {
  std::string checkpoint;
  std::vector<std::string> taken, left;
};

// Gives a fresh policy the networks and the normaliser of a checkpoint, each as a whole where all
// its arrays fit. Optimisers, temperatures and random streams start fresh. A target network that
// the checkpoint has not becomes a copy of its network. Error{config} if no network fits.
WarmStart start_from(const Checkpoint& checkpoint, TrainedPolicy& policy);

}  // namespace rl_training
