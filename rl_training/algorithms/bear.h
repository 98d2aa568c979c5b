#pragma once
#include "rl_training/algorithms/batch_constrained.h"
#include "rl_training/models/log_scalar.h"
#include "rl_training/models/mmd.h"

namespace rl_training {

struct BearOptions : BatchConstrainedOptions {
  static constexpr const char* kName = "bear";
  double actor_learning_rate = 1e-4;
  MmdKernel mmd_kernel = MmdKernel::laplacian;
  double mmd_sigma = 20.0;
  double mmd_threshold = 0.05;
  int64_t n_mmd_samples = 4;
  std::optional<double> mmd_alpha;  // learnt if unset
  double lagrange_learning_rate = 1e-3;
  double log_alpha_min = -5.0, log_alpha_max = 10.0;
  int64_t warmup_updates = 40000;

  BearOptions() { vae_learning_rate = 3e-4; }
  void visit_options(OptionVisitor& options) override;
  AdamOptions actor_adam() const override { return {.learning_rate = actor_learning_rate}; }
  void check() const override;
};

struct BearNetworks {
  BearNetworks(const BearOptions& options, const AlgorithmContext& context, Rng rng);
  ConditionalVae vae;
  GaussianActor actor;
  CriticEnsemble critics, critics_target;

  void visit_state(StateVisitor& state);
};

// Standard normal values for one update. m is n_action_samples and n is n_mmd_samples. The samples
// of a row are adjacent.
struct BearNoise {
  torch::Tensor encoder;       // [rows, latent_dim]
  torch::Tensor next_actions;  // [rows * m, action_dim]
  torch::Tensor actions;       // [rows * n, action_dim]
  torch::Tensor latents;       // [rows * n, latent_dim]
};

CandidateCriticLoss bear_critic_loss(const BearNetworks& networks, const Batch& batch,
                                     const BearNoise& noise, const BearOptions& options);

struct BearActorLoss {
  torch::Tensor loss, mmd, alpha;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("actor_loss", loss);
    visit("mmd_loss", mmd);
    visit("mmd_alpha", alpha);
  }
};
// `alpha` is the Lagrange multiplier. During warm-up the loss has no Q term.
BearActorLoss bear_actor_loss(const BearNetworks& networks, const Batch& batch,
                              const BearNoise& noise, const torch::Tensor& alpha, bool warming_up,
                              const BearOptions& options);
// Derivative of the multiplier's loss with respect to log alpha. If the policy is too far from the
// data, the derivative is negative and alpha grows.
torch::Tensor bear_multiplier_gradient(const torch::Tensor& alpha, const torch::Tensor& mmd_mean,
                                       const BearOptions& options);

// The losses of the behaviour model (behavior_vae_loss), the critics and the actor.
JointLoss<VaeLoss, CandidateCriticLoss, BearActorLoss> bear_loss(
    const BearNetworks& networks, const Batch& batch, const BearNoise& noise,
    const torch::Tensor& alpha, bool warming_up, const BearOptions& options);

// BEAR (arXiv:1906.00949): an actor that maximises Q while its samples stay within a given distance
// of the behaviour policy's samples.
class Bear final : public ActorCritic<BearOptions, BearNetworks> {
 public:
  Bear(const BearOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override;
  void visit_state(StateVisitor& state) override;

 private:
  BearNoise draw_noise(int64_t rows);

  Adam vae_optimizer_;
  LogScalar multiplier_;
  NoiseBuffer encoder_noise_, next_action_noise_, action_noise_, latent_noise_;
  int64_t updates_ = 0;
};

AlgorithmInfoOf<Bear, BearOptions> bear_info();

}  // namespace rl_training
