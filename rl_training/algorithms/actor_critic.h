#pragma once
#include "rl_training/algorithms/exploration.h"
#include "rl_training/models/critic_ensemble.h"

namespace rl_training {

// Parts that the actor-critic algorithms share. A loss that only one algorithm uses is in the files
// of that algorithm.

// Loss of critics that regress onto a target.
struct CriticLoss {
  torch::Tensor loss, target_q_mean;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("critic_loss", loss);
    visit("target_q_mean", target_q_mean);
  }
};
// L = sum_i mean (Q_i(s, a) - y)^2 with the target y [rows].
CriticLoss critic_loss(const CriticEnsemble& critics, const Batch& batch,
                       const torch::Tensor& target);

// The smallest critic value of each row, without gradient: [rows]. The value of a distributional
// critic is its mean.
torch::Tensor least_value(const CriticEnsemble& critics, const torch::Tensor& obs,
                          const torch::Tensor& actions);

// Values of the ensemble members with the indices `members`: [members.size(), rows]. A list of all
// members must be in order; its values have gradients and are computed in one pass. The values of a
// shorter list have no gradients.
torch::Tensor member_values(const CriticEnsemble& critics, const torch::Tensor& obs,
                            const torch::Tensor& actions, const std::vector<int64_t>& members);
// Draws `wanted` of `count` ensemble members without replacement and stores their indices in
// `members`. If `wanted` equals `count`, stores all indices in order and does not advance `rng`.
void draw_members(Rng& rng, int64_t count, int64_t wanted, std::vector<int64_t>& members);

// Loss of an actor that clones dataset actions with one weight per row.
struct WeightedCloningLoss {
  torch::Tensor loss, advantage_mean, weight_mean;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("actor_loss", loss);
    visit("advantage_mean", advantage_mean);
    visit("advantage_weight_mean", weight_mean);
  }
};

struct GaussianNetworks {
  GaussianNetworks(const GaussianActor::Options& actor_options,
                   const CriticEnsemble::Options& critic_options, const AlgorithmContext& context,
                   Rng& rng);
  GaussianActor actor;
  CriticEnsemble critics, critics_target;

  void move_target(double tau);
  void visit_state(StateVisitor& state);
};

// Base class with the training state: networks, their optimisers and random streams. `Networks` is
// constructed from (options, context, rng, design...) and has `actor`, `critics` and `visit_state`.
// A derived algorithm adds its losses, `update` and `act`. If it has further state, it overrides
// `visit_state`.
template <class Options, class Networks>
class ActorCritic : public Algorithm {
 public:
  template <class... Design>
  ActorCritic(const Options& options, const AlgorithmContext& context, const Design&... design)
      : options_(options),
        rng_(context.own_seed(), "policy"),
        explorer_(context.own_seed()),
        networks_(options, context, Rng(context.seed, "init"), design...),
        actor_optimizer_(networks_.actor.parameters(), options.actor_adam(), context.compute),
        critic_optimizer_(networks_.critics.network(), options.critic_adam(), context.compute) {}

  torch::Tensor values(const torch::Tensor& obs, const torch::Tensor& actions) const override {
    return least_value(networks_.critics, obs, actions);
  }

  void visit_state(StateVisitor& state) override {
    networks_.visit_state(state);
    state.part("actor_optimizer", actor_optimizer_);
    state.part("critic_optimizer", critic_optimizer_);
    state.part("policy_rng", rng_);
    explorer_.visit_state(state);
  }

 protected:
  Options options_;
  Rng rng_;
  Explorer explorer_;
  Networks networks_;
  Adam actor_optimizer_, critic_optimizer_;
};

}  // namespace rl_training
