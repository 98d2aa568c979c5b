#include "rl_training/algorithms/sac.h"

namespace rl_training {

// y = r + gamma (1 - d) (min_i Q'_i(s', a') - alpha log pi(a'|s'))
// L_Q = 1/2 sum_i mean (Q_i(s, a) - y)^2;  L_pi = mean (alpha log pi(b|s) - min_i Q_i(s, b))
// with a' ~ pi(s') and b ~ pi(s)
SoftDesign SacOptions::design(int64_t action_dim) const {
  SoftDesign design;
  design.temperature = goal(-static_cast<double>(action_dim));
  return design;
}

AlgorithmInfoOf<Sac, SacOptions> sac_info() {
  return algorithm_info<Sac, SacOptions>({.name = SacOptions::kName,
                                          .title = "SAC: soft actor-critic",
                                          .paper = "arXiv:1812.05905",
                                          .metrics = soft_metrics()});
}

}  // namespace rl_training
