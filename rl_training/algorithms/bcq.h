#pragma once
#include "rl_training/algorithms/batch_constrained.h"
#include "rl_training/models/adam.h"
#include "rl_training/models/perturbation_actor.h"

namespace rl_training {

struct BcqOptions : AlgorithmOptions {
  static constexpr const char* kName = "bcq";
  double perturbation_scale = 0.05;
  int64_t num_action_samples = 10;
  int64_t eval_action_samples = 100;
  double lambda_min = 0.75;
  std::optional<int64_t> latent_dim;  // twice the action dimension
  double latent_clip = 0.5;
  double vae_kl_weight = 0.5;
  std::vector<int64_t> vae_hidden_sizes = {750, 750};
  double vae_learning_rate = 1e-3;

  BcqOptions();
  void visit_options(OptionVisitor& options) override;
};

struct BcqNetworks {
  BcqNetworks(const BcqOptions& options, const AlgorithmContext& context, Rng rng);
  ConditionalVae vae;
  PerturbationActor actor, actor_target;
  CriticEnsemble critics, critics_target;
};

// Standard normal numbers for one update; n is num_action_samples.
struct BcqNoise {
  torch::Tensor encoder;       // [rows, latent_dim]
  torch::Tensor next_latents;  // [rows * n, latent_dim], the n of a row side by side
  torch::Tensor latents;       // [rows, latent_dim]
};

// vae_loss, reconstruction_loss, kl_loss.
Loss bcq_vae_loss(const BcqNetworks& networks, const Batch& batch, const BcqNoise& noise,
                  const BcqOptions& options);
// critic_loss, target_q_mean, candidate_q_mean.
Loss bcq_critic_loss(const BcqNetworks& networks, const Batch& batch, const BcqNoise& noise,
                     const BcqOptions& options);
// actor_loss.
Loss bcq_actor_loss(const BcqNetworks& networks, const Batch& batch, const BcqNoise& noise);

// All three on one batch with the networks as they are: `loss` is their sum, and the metrics are
// those of all. For looking at a policy from outside; `update` steps between them.
Loss bcq_loss(const BcqNetworks& networks, const Batch& batch, const BcqNoise& noise,
              const BcqOptions& options);

// BCQ (arXiv:1812.02900), continuous: Q-learning over actions that a model of the data proposes and
// a small network perturbs.
class Bcq final : public Algorithm {
 public:
  Bcq(const BcqOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  void visit_state(StateVisitor& state) override;

 private:
  BcqOptions options_;
  Rng rng_, explore_rng_;
  BcqNetworks networks_;
  Adam vae_optimizer_, critic_optimizer_, actor_optimizer_;
  NoiseBuffer encoder_noise_, next_latent_noise_, latent_noise_;
};

AlgorithmInfo bcq_info();

}  // namespace rl_training
