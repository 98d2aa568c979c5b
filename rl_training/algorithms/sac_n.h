#pragma once
#include "rl_training/algorithms/soft_actor_critic.h"

namespace rl_training {

// The defaults are the authors' settings for D4RL's halfcheetah datasets. The number of critics
// depends on the task; see docs/algorithms/sac_n.md.
struct SacNOptions : SoftLearnerOptions {
  static constexpr const char* kName = "sac_n";
  int64_t num_critics = 10;

  SacNOptions() { hidden_sizes = {256, 256, 256}; }
  void visit_options(OptionVisitor& options) override;
  SoftDesign design(int64_t action_dim) const;
};

// SAC-N (arXiv:2110.01548): offline SAC that uses the minimum of many critics to avoid
// overestimation.
class SacN final : public SoftActorCritic {
 public:
  SacN(const SacNOptions& options, const AlgorithmContext& context)
      : SoftActorCritic(options, options.design(context.action_dim()), context) {}
};

AlgorithmInfoOf<SacN, SacNOptions> sac_n_info();

}  // namespace rl_training
