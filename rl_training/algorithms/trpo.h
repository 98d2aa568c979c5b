#pragma once
#include "rl_training/algorithms/on_policy.h"

namespace rl_training {

struct TrpoOptions : OnPolicyOptions {
  static constexpr const char* kName = "trpo";
  TrpoOptions() {
    learning_rate = 1e-3;
    batch_size = 128;
  }
  double target_kl = 0.01;
  double damping = 0.1;
  int64_t cg_iterations = 15;
  int64_t line_search_steps = 10;
  double line_search_decay = 0.8;
  int64_t critic_epochs = 10;

  void visit_options(OptionVisitor& options) override;
  // Requests the whole rollout as one batch.
  BatchRequest request() const override;
  std::vector<PhaseSpec> phases(int64_t total_timesteps) const override;
};

// Computes v -> (F + damping I) v. F is the Hessian of the mean KL divergence at the current
// policy, that is, the Fisher matrix. All policy parameters together form one flat vector.
class FisherProduct {
 public:
  FisherProduct(const OnPolicyNetworks& networks, const torch::Tensor& obs, double damping);
  torch::Tensor operator()(const torch::Tensor& v) const;

 private:
  std::vector<torch::Tensor> leaves_;
  torch::Tensor kl_gradient_;  // with its graph, for the second derivative
  double damping_;
};

// Solves A x = b for a symmetric positive definite A by conjugate gradients, starting at 0. Stops
// early if the squared residual is below 1e-10.
torch::Tensor conjugate_gradients(const std::function<torch::Tensor(const torch::Tensor&)>& product,
                                  const torch::Tensor& b, int64_t iterations);

// mean A rho with A = advantages and rho = pi(a|s) / pi_old(a|s)
torch::Tensor surrogate_objective(const ActionDistribution& policy, const Batch& batch,
                                  const torch::Tensor& advantages);

struct TrustRegionStep {
  torch::Tensor objective;  // after the step, with standardised advantages
  torch::Tensor kl;         // mean KL(new || old)
  torch::Tensor scale;      // accepted fraction of the full step; 0 if no step was accepted
  torch::Tensor entropy;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("policy_objective", objective);
    visit("kl", kl);
    visit("step_scale", scale);
    visit("entropy", entropy);
  }
};
// Updates the policy's parameters.
TrustRegionStep trust_region_step(const OnPolicyNetworks& networks, const Batch& batch,
                                  const TrpoOptions& options);

struct TrpoValueLoss {
  torch::Tensor loss;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("value_loss", loss);
  }
};

// Trust region policy optimisation (arXiv:1502.05477) with generalised advantage estimation.
class Trpo final : public OnPolicyAlgorithm {
 public:
  Trpo(const TrpoOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  void visit_state(StateVisitor& state) override;

 private:
  TrpoValueLoss fit_values(const Batch& batch, double lr_scale);

  TrpoOptions options_;
  Rng rng_;  // order of the rows in the critic's minibatches
  Adam optimizer_;
};

AlgorithmInfoOf<Trpo, TrpoOptions> trpo_info();

}  // namespace rl_training
