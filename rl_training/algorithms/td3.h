#pragma once
#include "rl_training/algorithms/actor_critic.h"

namespace rl_training {

// The keys that TD3 and its variants share.
struct DelayedActorOptions : AlgorithmOptions {
  double policy_noise = 0.2;
  double noise_clip = 0.5;
  int64_t policy_delay = 2;
  double exploration_noise = 0.1;

 protected:
  void visit_delayed_options(OptionVisitor& options);
};

struct Td3Options : DelayedActorOptions {
  static constexpr const char* kName = "td3";
  CollectOptions environment;

  CollectOptions* collect() override { return &environment; }
  std::vector<PhaseSpec> phases(int64_t total_timesteps) const override {
    return replay_phases(environment, total_timesteps);
  }
  void visit_options(OptionVisitor& options) override;
};

struct DeterministicNetworks {
  DeterministicNetworks(const DeterministicActor::Options& actor_options,
                        const CriticEnsemble::Options& critic_options,
                        const AlgorithmContext& context, Rng& rng);
  DeterministicActor actor, actor_target;
  CriticEnsemble critics, critics_target;

  void move_targets(double tau);
  void visit_state(StateVisitor& state);
};

struct Td3Networks : DeterministicNetworks {
  Td3Networks(const AlgorithmOptions& options, const AlgorithmContext& context, Rng rng,
              int64_t critic_count = 2);
};

// Next actions of the smoothed target policy, without gradient: [rows, action_dim]. `noise` is
// standard normal and has the same shape.
torch::Tensor smoothed_next_actions(const DeterministicNetworks& networks, const Batch& batch,
                                    const torch::Tensor& noise, const DelayedActorOptions& options);

// `noise` is standard normal, [rows, action_dim].
CriticLoss td3_critic_loss(const DeterministicNetworks& networks, const Batch& batch,
                           const torch::Tensor& noise, const DelayedActorOptions& options);

struct Td3ActorLoss {
  torch::Tensor loss, q_mean;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("actor_loss", loss);
    visit("actor_q_mean", q_mean);
  }
};
Td3ActorLoss td3_actor_loss(const DeterministicNetworks& networks, const Batch& batch);

// Base class of TD3 and its variants. The deterministic actor is updated once per `policy_delay`
// updates of the critics, and explores with noise of constant scale.
template <class Options, class Networks, class ActorLoss>
class DelayedActorCritic : public ActorCritic<Options, Networks> {
 public:
  using ActorCritic<Options, Networks>::ActorCritic;

  torch::Tensor act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) override {
    return this->explorer_.act(this->networks_.actor, obs, mode, this->options_.exploration_noise);
  }
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override {
    return this->networks_.actor.describe(graph, obs);
  }
  void visit_state(StateVisitor& state) override {
    ActorCritic<Options, Networks>::visit_state(state);
    state.part("actor_metrics", actor_loss_);
    state.scalar("updates", updates_);
  }

 protected:
  NoiseBuffer noise_;
  Held<ActorLoss> actor_loss_;
  int64_t updates_ = 0;
};

// TD3 (arXiv:1802.09477): twin critics, delayed actor, smoothed target policy.
class Td3 : public DelayedActorCritic<Td3Options, Td3Networks, Td3ActorLoss> {
 public:
  using DelayedActorCritic::DelayedActorCritic;
  Metrics update(const Batch& batch, double lr_scale) override;
};

AlgorithmInfoOf<Td3, Td3Options> td3_info();

}  // namespace rl_training
