#include "rl_training/algorithms/ddpg.h"

namespace rl_training {
namespace {

Td3Options without_refinements(const DdpgOptions& options) {
  Td3Options result;
  static_cast<AlgorithmOptions&>(result) = options;
  result.exploration_noise = options.exploration_noise;
  result.policy_delay = 1;
  result.policy_noise = result.noise_clip = 0;
  return result;
}

}  // namespace

void DdpgOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.number("exploration_noise", exploration_noise, at_least(0),
                 "standard deviation of the noise on collected actions");
  environment.visit_options(options);
}

// y = r + gamma (1 - d) Q'(s', pi'(s'));  L_Q = mean (Q(s, a) - y)^2;  L_pi = -mean Q(s, pi(s))
Ddpg::Ddpg(const DdpgOptions& options, const AlgorithmContext& context)
    : Td3(without_refinements(options), context, /*critic_count=*/int64_t{1}) {}

AlgorithmInfoOf<Ddpg, DdpgOptions> ddpg_info() {
  return algorithm_info<Ddpg, DdpgOptions>(
      {.name = DdpgOptions::kName,
       .title = "DDPG: deep deterministic policy gradient",
       .paper = "arXiv:1509.02971",
       .metrics = metric_names_of<CriticLoss, Td3ActorLoss>()});
}

}  // namespace rl_training
