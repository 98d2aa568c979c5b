#include "rl_training/algorithms/actor_critic.h"

#include <numeric>

#include "rl_training/models/losses.h"

namespace rl_training {

CriticLoss critic_loss(const CriticEnsemble& critics, const Batch& batch,
                       const torch::Tensor& target) {
  return {squared_error(critics.values(batch.obs(), batch.actions()), target), mean_of(target)};
}

torch::Tensor least_value(const CriticEnsemble& critics, const torch::Tensor& obs,
                          const torch::Tensor& actions) {
  const torch::NoGradGuard no_grad;
  return critics.distributions(obs, actions).mean(2).amin(0);
}

torch::Tensor member_values(const CriticEnsemble& critics, const torch::Tensor& obs,
                            const torch::Tensor& actions, const std::vector<int64_t>& members) {
  if (static_cast<int64_t>(members.size()) == critics.network().members()) {
    return critics.values(obs, actions);
  }
  std::vector<torch::Tensor> values;
  values.reserve(members.size());
  for (const int64_t member : members) {
    values.push_back(critics.network().forward_member(member, obs, actions).squeeze(1));
  }
  return torch::stack(values);
}

// Partial Fisher-Yates shuffle: only the first `wanted` positions are shuffled.
void draw_members(Rng& rng, int64_t count, int64_t wanted, std::vector<int64_t>& members) {
  const auto all = static_cast<size_t>(count), places = static_cast<size_t>(wanted);
  members.resize(all);
  std::iota(members.begin(), members.end(), 0);
  if (places == all) return;
  for (size_t i = 0; i < places; ++i) std::swap(members[i], members[i + rng.below(all - i)]);
  members.resize(places);
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
