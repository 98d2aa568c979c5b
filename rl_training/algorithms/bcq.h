#pragma once
#include "rl_training/algorithms/batch_constrained.h"
#include "rl_training/models/perturbation_actor.h"

namespace rl_training {

struct BcqOptions : BatchConstrainedOptions {
  static constexpr const char* kName = "bcq";
  double perturbation_scale = 0.05;

  BcqOptions();
  void visit_options(OptionVisitor& options) override;
};

struct BcqNetworks {
  BcqNetworks(const BcqOptions& options, const AlgorithmContext& context, Rng rng);
  ConditionalVae vae;
  PerturbationActor actor, actor_target;
  CriticEnsemble critics, critics_target;

  void move_targets(double tau);
  void visit_state(StateVisitor& state);
};

// Standard normal values for one update; n is n_action_samples.
struct BcqNoise {
  torch::Tensor encoder;       // [rows, latent_dim]
  torch::Tensor next_latents;  // [rows * n, latent_dim], where the n samples of a row are adjacent
  torch::Tensor latents;       // [rows, latent_dim]
};

CandidateCriticLoss bcq_critic_loss(const BcqNetworks& networks, const Batch& batch,
                                    const BcqNoise& noise, const BcqOptions& options);

struct BcqActorLoss {
  torch::Tensor loss;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("actor_loss", loss);
  }
};
BcqActorLoss bcq_actor_loss(const BcqNetworks& networks, const Batch& batch, const BcqNoise& noise);

// The losses of the behaviour model (behavior_vae_loss), the critics and the actor.
JointLoss<VaeLoss, CandidateCriticLoss, BcqActorLoss> bcq_loss(const BcqNetworks& networks,
                                                               const Batch& batch,
                                                               const BcqNoise& noise,
                                                               const BcqOptions& options);

// BCQ for continuous actions (arXiv:1812.02900): Q-learning over candidate actions. A model of the
// data proposes the candidates, and a small network perturbs them.
class Bcq final : public ActorCritic<BcqOptions, BcqNetworks> {
 public:
  Bcq(const BcqOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override;
  void visit_state(StateVisitor& state) override;

 private:
  Adam vae_optimizer_;
  NoiseBuffer encoder_noise_, next_latent_noise_, latent_noise_;
};

AlgorithmInfoOf<Bcq, BcqOptions> bcq_info();

}  // namespace rl_training
