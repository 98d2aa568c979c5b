#include "rl_training/algorithms/sac_n.h"

namespace rl_training {

void SacNOptions::visit_options(OptionVisitor& options) {
  SoftLearnerOptions::visit_options(options);
  options.integer("num_critics", num_critics, between(2, 10000),
                  "critics in the ensemble; targets and actor use their smallest value");
}

// y = r + gamma (1 - d) (min_i Q'_i(s', a') - alpha log pi(a'|s'))
// L_Q = sum_i mean (Q_i(s, a) - y)^2;  L_pi = mean (alpha log pi(b|s) - min_i Q_i(s, b))
// with a' ~ pi(s') and b ~ pi(s)
SoftDesign SacNOptions::design(int64_t action_dim) const {
  SoftDesign design;
  design.critics = design.target_critics = num_critics;
  design.critic_loss_scale = 1.0;
  design.policy_first = true;
  design.temperature = goal(-static_cast<double>(action_dim));
  design.log_std_min = -5.0;
  design.init = fan_in_layer();
  design.actor_head = narrow_layer(1e-3);
  design.critic_head = narrow_layer(3e-3);
  return design;
}

AlgorithmInfoOf<SacN, SacNOptions> sac_n_info() {
  return algorithm_info<SacN, SacNOptions>({.name = SacNOptions::kName,
                                            .title = "SAC-N: SAC with the minimum of N critics",
                                            .paper = "arXiv:2110.01548",
                                            .metrics = soft_metrics()});
}

}  // namespace rl_training
