#pragma once
#include "rl_training/algorithms/on_policy.h"

namespace rl_training {

struct PpoOptions : OnPolicyOptions {
  static constexpr const char* kName = "ppo";
  double clip_range = 0.2;
  std::optional<double> value_clip_range;
  double value_weight = 0.5;
  double entropy_weight = 0.0;
  double max_gradient_norm = 0.5;
  int64_t epochs = 10;
  std::optional<double> target_kl;

  void visit_options(OptionVisitor& options) override;
  void check() const override;
  std::vector<PhaseSpec> phases(int64_t total_timesteps) const override;
};

struct PpoLoss {
  torch::Tensor loss;  // the minimised sum of policy loss, value loss and entropy term
  torch::Tensor policy_loss, value_loss, entropy;
  torch::Tensor approx_kl;  // between the policy that collected the rollout and the current one,
                            // without gradient
  torch::Tensor clip_fraction;  // fraction of rows whose ratio is outside the clip range

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("actor_loss", policy_loss);
    visit("value_loss", value_loss);
    visit("entropy", entropy);
    visit("approx_kl", approx_kl);
    visit("clip_fraction", clip_fraction);
  }
};

// -min(A rho, A clip(rho, 1 - e, 1 + e)) of each row with A = advantages, rho = exp(log_ratio) and
// e = clip_range.
torch::Tensor clipped_objective(const torch::Tensor& log_ratio, const torch::Tensor& advantages,
                                double clip_range);
// mean (V - R)^2 with V = values and R = returns. With a clip range e, each row uses the larger of
// two squared errors: that of V and that of V_old + clip(V - V_old, +-e), where V_old = old_values.
torch::Tensor clipped_value_loss(const torch::Tensor& values, const torch::Tensor& old_values,
                                 const torch::Tensor& returns, std::optional<double> clip_range);
// mean (rho - 1 - log rho), an estimate of KL(old || new) that is never negative.
torch::Tensor approximate_kl(const torch::Tensor& log_ratio);

PpoLoss ppo_loss(const OnPolicyNetworks& networks, const Batch& batch, const PpoOptions& options);

// Proximal policy optimisation (arXiv:1707.06347).
class Ppo final : public OnPolicyAlgorithm {
 public:
  Ppo(const PpoOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  bool rollout_used_up() const override { return used_up_; }
  void visit_state(StateVisitor& state) override;

 private:
  PpoOptions options_;
  Adam optimizer_;
  // Set by the latest update. Not part of the state, because a checkpoint is never written between
  // the updates on a rollout.
  bool used_up_ = false;
};

AlgorithmInfoOf<Ppo, PpoOptions> ppo_info();

}  // namespace rl_training
