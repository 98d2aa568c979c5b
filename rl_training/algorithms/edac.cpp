#include "rl_training/algorithms/edac.h"

namespace rl_training {

void EdacOptions::visit_options(OptionVisitor& options) {
  SacNOptions::visit_options(options);
  options.number("eta", eta, at_least(0),
                 "weight of the diversity term in the critics' loss; 0 gives SAC-N");
}

// g_i = grad_a Q_i(s, a) / (|grad_a Q_i(s, a)| + 1e-10);
// L = mean 1 / (N - 1) sum_{i != j} <g_i, g_j>, where the sum is |sum_i g_i|^2 - sum_i |g_i|^2
EdacDiversity edac_diversity(const CriticEnsemble& critics, const InputSlopes& slopes,
                             const Batch& batch) {
  const auto g = slopes.at(critics, batch.obs(), batch.actions());
  const auto unit = g / (g.norm(2, 2, /*keepdim=*/true) + 1e-10);
  const auto alike = unit.sum(0).square().sum(1) - unit.square().sum(2).sum(0);
  return {alike.mean() / static_cast<double>(g.size(0) - 1)};
}

Metrics Edac::update(const Batch& batch, double lr_scale) {
  step_policy(batch, lr_scale);
  const auto critic = loss_of_critics(batch);
  const auto diversity = edac_diversity(networks_.critics, slopes_, batch);
  step_critics(critic.loss + eta_ * diversity.loss, lr_scale);
  return metrics_of(critic, diversity, policy_loss());
}

AlgorithmInfoOf<Edac, EdacOptions> edac_info() {
  return algorithm_info<Edac, EdacOptions>(
      {.name = EdacOptions::kName,
       .title = "EDAC: SAC-N with diversified critics",
       .paper = "arXiv:2110.01548",
       .metrics = metric_names_of<CriticLoss, EdacDiversity, SoftPolicyLoss, TemperatureLoss>()});
}

}  // namespace rl_training
