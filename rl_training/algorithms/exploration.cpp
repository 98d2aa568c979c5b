#include "rl_training/algorithms/exploration.h"

namespace rl_training {

torch::Tensor Explorer::act(const GaussianActor& actor, const torch::Tensor& obs, ActMode mode) {
  const torch::NoGradGuard no_grad;
  if (mode == ActMode::greedy) return actor.mode(obs);
  return gaussian_actions(actor.head(obs), buffer_.normal(rng_, {obs.size(0), actor.action_dim()}));
}

torch::Tensor Explorer::act(const DeterministicActor& actor, const torch::Tensor& obs, ActMode mode,
                            double noise) {
  const torch::NoGradGuard no_grad;
  const auto actions = actor.actions(obs);
  return mode == ActMode::greedy ? actions : around(actions, noise);
}

torch::Tensor Explorer::around(const torch::Tensor& actions, double noise) {
  return torch::add(actions, buffer_.normal(rng_, actions.sizes()), noise).clamp_(-1.0, 1.0);
}

}  // namespace rl_training
