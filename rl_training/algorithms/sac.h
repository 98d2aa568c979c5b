#pragma once
#include "rl_training/algorithms/soft_actor_critic.h"

namespace rl_training {

struct SacOptions : SoftOptions {
  static constexpr const char* kName = "sac";

  SoftDesign design(int64_t action_dim) const;
};

// SAC (arXiv:1812.05905) with twin critics, targets that use the smaller of the two critic values,
// and a temperature that can be learnt.
class Sac final : public SoftActorCritic {
 public:
  Sac(const SacOptions& options, const AlgorithmContext& context)
      : SoftActorCritic(options, options.design(context.action_dim()), context) {}
};

AlgorithmInfoOf<Sac, SacOptions> sac_info();

}  // namespace rl_training
