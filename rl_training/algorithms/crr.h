#pragma once
#include "rl_training/algorithms/algorithm.h"
#include "rl_training/algorithms/log_std_bounds.h"
#include "rl_training/models/adam.h"
#include "rl_training/models/critic_ensemble.h"
#include "rl_training/models/gaussian_actor.h"

namespace rl_training {

struct CrrOptions : AlgorithmOptions {
  static constexpr const char* kName = "crr";
  std::string advantage_type = "mean";
  std::string weight_type = "exp";
  double beta = 1.0;
  int64_t n_action_samples = 4;
  double max_weight = 20.0;
  bool layer_norm = false;
  bool critic_weighted_policy = false;
  LogStdBounds log_std;

  void visit_options(OptionVisitor& options) override;
  void check() const override;
};

struct CrrNetworks {
  CrrNetworks(const CrrOptions& options, const AlgorithmContext& context, Rng rng);
  GaussianActor actor, actor_target;
  CriticEnsemble critics, critics_target;
};

// Q(s, a) [rows] less the mean or largest of the candidates' Q [rows, n], without gradient.
torch::Tensor crr_advantage(const torch::Tensor& q, const torch::Tensor& candidate_q,
                            const CrrOptions& options);
// Weights of the rows by their advantages, [rows] -> [rows], without gradient.
torch::Tensor crr_weights(const torch::Tensor& advantage, const CrrOptions& options);
// Which candidate of each row the critic-weighted policy takes: one with probability
// softmax(Q / beta), found by a number in [0, 1) for each row. [rows, n], [rows, 1] -> [rows].
torch::Tensor crr_choose(const torch::Tensor& candidate_q, const torch::Tensor& uniform,
                         const CrrOptions& options);

// critic_loss, target_q_mean. `noise` is standard normal, [rows, action_dim].
Loss crr_critic_loss(const CrrNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                     const CrrOptions& options);
// actor_loss, advantage_mean, advantage_weight_mean, positive_fraction. `noise` is standard normal,
// [rows * n_action_samples, action_dim].
Loss crr_actor_loss(const CrrNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                    const CrrOptions& options);

// Both losses on one batch with the networks as they are, each with its own noise: `loss` is their
// sum. `update` steps between the two.
Loss crr_loss(const CrrNetworks& networks, const Batch& batch, const torch::Tensor& critic_noise,
              const torch::Tensor& actor_noise, const CrrOptions& options);

// CRR (arXiv:2006.15134): critic-regularized regression, cloning of those actions that the critic
// prefers to the policy's own.
class Crr final : public Algorithm {
 public:
  Crr(const CrrOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  void visit_state(StateVisitor& state) override;

 private:
  torch::Tensor act_critic_weighted(const torch::Tensor& obs, ActMode mode);

  CrrOptions options_;
  Rng rng_, explore_rng_;
  CrrNetworks networks_;
  Adam actor_optimizer_, critic_optimizer_;
  NoiseBuffer noise_, candidate_noise_, uniform_;
};

AlgorithmInfo crr_info();

}  // namespace rl_training
