#include "rl_training/algorithms/sac.h"

namespace rl_training {

SoftDesign SacOptions::design(int64_t action_dim) const {
  SoftDesign design;
  design.target_entropy = target_entropy.value_or(-static_cast<double>(action_dim));
  return design;
}

// y = r + gamma (1 - d) (min_i Q'_i(s', a') - alpha log pi(a'|s'));  L_Q = 1/2 sum_i mean (Q_i -
// y)^2; L_pi = mean (alpha log pi(a|s) - min_i Q_i(s, a))
Loss sac_loss(const SoftNetworks& networks, const Batch& batch, const torch::Tensor& noise,
              const torch::Tensor& alpha, const SacOptions& options) {
  return soft_loss(networks, batch, noise, {0, 1}, alpha, options,
                   options.design(batch.actions().size(1)));
}

AlgorithmInfo sac_info() {
  return algorithm_info<Sac, SacOptions>({.name = SacOptions::kName,
                                          .title = "SAC: soft actor-critic",
                                          .paper = "arXiv:1812.05905",
                                          .metrics = soft_metrics()});
}

}  // namespace rl_training
