#pragma once
#include <string>
#include <vector>

#include "rl_training/experiment/trained_policy.h"

namespace rl_training {

// `taken` lists the networks ("actor", "critics") and the "normalizer" that a new run copied from
// another run. `left` lists those that were not copied, because the other run lacks them or has
// them in other sizes.
struct WarmStart {
  std::string checkpoint;
  std::vector<std::string> taken, left;
};

// Copies the networks and the normaliser of a checkpoint into a new policy. A network is copied
// only if all its arrays match. If the checkpoint lacks a target network, the target is copied from
// the corresponding online network. Optimisers, temperatures and random streams are not copied.
// Throws Error{config} if no network matches.
WarmStart start_from(const Checkpoint& checkpoint, TrainedPolicy& policy);

}  // namespace rl_training
