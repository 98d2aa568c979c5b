#pragma once
#include "rl_training/algorithms/soft_actor_critic.h"

namespace rl_training {

struct RedqOptions : SoftOptions {
  static constexpr const char* kName = "redq";
  int64_t num_critics = 10;
  int64_t num_min_critics = 2;

  RedqOptions();
  void visit_options(OptionVisitor& options) override;
  void check() const override;
  SoftDesign design(int64_t action_dim) const;
};

// REDQ (arXiv:2101.05982): SAC with an ensemble of critics, targets that use a random subset of the
// ensemble, and many updates per environment step.
class Redq final : public SoftActorCritic {
 public:
  Redq(const RedqOptions& options, const AlgorithmContext& context)
      : SoftActorCritic(options, options.design(context.action_dim()), context) {}
};

// Throws Error{config} that names num_min_critics if it exceeds the number of critics.
void check_critic_counts(int64_t num_critics, int64_t num_min_critics);

AlgorithmInfoOf<Redq, RedqOptions> redq_info();

}  // namespace rl_training
