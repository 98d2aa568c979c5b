#pragma once
#include "rl_training/algorithms/batch_constrained.h"
#include "rl_training/models/adam.h"
#include "rl_training/models/gaussian_actor.h"
#include "rl_training/models/log_scalar.h"

namespace rl_training {

struct BearOptions : AlgorithmOptions {
  static constexpr const char* kName = "bear";
  double actor_learning_rate = 1e-4;
  std::string mmd_kernel = "laplacian";
  double mmd_sigma = 20.0;
  double mmd_threshold = 0.05;
  int64_t num_mmd_action_samples = 4;
  std::optional<double> mmd_alpha;  // learnt
  double lagrange_learning_rate = 1e-3;
  double log_alpha_min = -5.0, log_alpha_max = 10.0;
  int64_t warmup_updates = 40000;
  int64_t num_target_samples = 10;
  int64_t eval_action_samples = 100;
  double lambda_min = 0.75;
  std::optional<int64_t> latent_dim;  // twice the action dimension
  double latent_clip = 0.5;
  double behavior_kl_weight = 0.5;
  std::vector<int64_t> vae_hidden_sizes = {750, 750};
  double vae_learning_rate = 3e-4;

  void visit_options(OptionVisitor& options) override;
  void check() const override;
};

struct BearNetworks {
  BearNetworks(const BearOptions& options, const AlgorithmContext& context, Rng rng);
  ConditionalVae vae;
  GaussianActor actor;
  CriticEnsemble critics, critics_target;
};

// Standard normal numbers for one update; m is num_target_samples, n is num_mmd_action_samples, and
// the samples of a row lie side by side.
struct BearNoise {
  torch::Tensor encoder;       // [rows, latent_dim]
  torch::Tensor next_actions;  // [rows * m, action_dim]
  torch::Tensor actions;       // [rows * n, action_dim]
  torch::Tensor latents;       // [rows * n, latent_dim]
};

// vae_loss, reconstruction_loss, kl_loss.
Loss bear_vae_loss(const BearNetworks& networks, const Batch& batch, const BearNoise& noise,
                   const BearOptions& options);
// critic_loss, target_q_mean, candidate_q_mean.
Loss bear_critic_loss(const BearNetworks& networks, const Batch& batch, const BearNoise& noise,
                      const BearOptions& options);
// actor_loss, mmd_loss, mmd_alpha. `alpha` is the multiplier; while warming up Q is left out.
Loss bear_actor_loss(const BearNetworks& networks, const Batch& batch, const BearNoise& noise,
                     const torch::Tensor& alpha, bool warming_up, const BearOptions& options);
// Derivative by log alpha of the loss that the multiplier descends; negative where the policy is
// too far from the data, so that alpha grows.
torch::Tensor bear_multiplier_gradient(const torch::Tensor& alpha, const torch::Tensor& mmd_mean,
                                       const BearOptions& options);

// The first three on one batch with the networks as they are: `loss` is their sum, and the metrics
// are those of all. For looking at a policy from outside; `update` steps between them.
Loss bear_loss(const BearNetworks& networks, const Batch& batch, const BearNoise& noise,
               const torch::Tensor& alpha, bool warming_up, const BearOptions& options);

// BEAR (arXiv:1906.00949): an actor that maximises Q while its samples stay within a distance of
// those of the behaviour.
class Bear final : public Algorithm {
 public:
  Bear(const BearOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  void visit_state(StateVisitor& state) override;

 private:
  BearNoise draw_noise(int64_t rows);

  BearOptions options_;
  Rng rng_, explore_rng_;
  BearNetworks networks_;
  Adam vae_optimizer_, critic_optimizer_, actor_optimizer_;
  LogScalar multiplier_;
  NoiseBuffer encoder_noise_, next_action_noise_, action_noise_, latent_noise_;
  int64_t updates_ = 0;
};

AlgorithmInfo bear_info();

}  // namespace rl_training
