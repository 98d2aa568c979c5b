#include "rl_training/algorithms/actor_critic.h"

#include "rl_training/models/losses.h"

namespace rl_training {

CriticLoss critic_loss(const CriticEnsemble& critics, const Batch& batch,
                       const torch::Tensor& target) {
  return {squared_error(critics.values(batch.obs(), batch.actions()), target), target.mean()};
}

torch::Tensor least_value(const CriticEnsemble& critics, const torch::Tensor& obs,
                          const torch::Tensor& actions) {
  const torch::NoGradGuard no_grad;
  return critics.distributions(obs, actions).mean(2).amin(0);
}

GaussianNetworks::GaussianNetworks(const GaussianActor::Options& actor_options,
                                   const CriticEnsemble::Options& critic_options,
                                   const AlgorithmContext& context, Rng& rng)
    : actor(context.obs_dim(), context.action_dim(), actor_options, rng, context.compute),
      critics(context.obs_dim(), context.action_dim(), critic_options, rng, context.compute),
      critics_target(critics) {}

void GaussianNetworks::move_target(double tau) {
  critics_target.network().polyak_from(critics.network(), tau);
}

void GaussianNetworks::visit_state(StateVisitor& state) {
  state.part("actor", actor);
  state.part("critics", critics);
  state.part("critics_target", critics_target);
}

}  // namespace rl_training
