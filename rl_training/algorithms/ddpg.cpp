#include "rl_training/algorithms/ddpg.h"

namespace rl_training {

DdpgOptions::DdpgOptions() {
  critics = 1;
  policy_delay = 1;
  policy_noise = noise_clip = 0;
}

void DdpgOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.number("exploration_noise", exploration_noise, at_least(0),
                 "standard deviation of the noise on collected actions");
  environment.visit_options(options);
}

// y = r + gamma (1 - d) Q'(s', pi'(s'));  L_Q = mean (Q(s, a) - y)^2;  L_pi = -mean Q(s, pi(s))
Loss ddpg_loss(const Td3Networks& networks, const Batch& batch, const DdpgOptions& options) {
  return td3_loss(networks, batch, torch::zeros_like(batch.actions()), options);
}

AlgorithmInfo ddpg_info() {
  return algorithm_info<Ddpg, DdpgOptions>(
      {.name = DdpgOptions::kName,
       .title = "DDPG: deep deterministic policy gradient",
       .paper = "arXiv:1509.02971",
       .metrics = {"critic_loss", "target_q_mean", "actor_loss", "actor_q_mean"}});
}

}  // namespace rl_training
