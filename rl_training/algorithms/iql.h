#pragma once
#include "rl_training/algorithms/algorithm.h"
#include "rl_training/algorithms/log_std_bounds.h"
#include "rl_training/models/adam.h"
#include "rl_training/models/critic_ensemble.h"
#include "rl_training/models/gaussian_actor.h"

namespace rl_training {

struct IqlOptions : AlgorithmOptions {
  static constexpr const char* kName = "iql";
  double expectile = 0.7;
  double beta = 3.0;
  double max_weight = 100.0;
  std::string policy = "gaussian";
  double exploration_noise = 0.03;
  LogStdBounds log_std;

  void visit_options(OptionVisitor& options) override;
  void check() const override { log_std.check(); }
  bool deterministic() const { return policy == "deterministic"; }
};

struct IqlNetworks {
  IqlNetworks(const IqlOptions& options, const AlgorithmContext& context, Rng rng);
  // V(s), [rows].
  torch::Tensor values(const torch::Tensor& obs) const { return value.forward(obs).view({-1}); }
  // What the actor's optimiser moves; the log std of a deterministic policy stays as it is.
  std::vector<torch::Tensor> actor_leaves(const IqlOptions& options) const;

  GaussianActor actor;
  Mlp value;
  CriticEnsemble critics, critics_target;
};

// min_i Q'_i(s, a) without gradient, [rows]: what both the value and the actor learn from.
torch::Tensor iql_target_q(const IqlNetworks& networks, const Batch& batch);

// value_loss, value_mean. `target_q` is that of iql_target_q.
Loss iql_value_loss(const IqlNetworks& networks, const Batch& batch, const torch::Tensor& target_q,
                    const IqlOptions& options);
// actor_loss, advantage_mean, advantage_weight_mean.
Loss iql_actor_loss(const IqlNetworks& networks, const Batch& batch, const torch::Tensor& target_q,
                    const IqlOptions& options);
// critic_loss, target_q_mean.
Loss iql_critic_loss(const IqlNetworks& networks, const Batch& batch, const IqlOptions& options);

// All three on one batch with the networks as they are: `loss` is their sum. `update` steps
// between them.
Loss iql_loss(const IqlNetworks& networks, const Batch& batch, const IqlOptions& options);

// IQL (arXiv:2110.06169): values by expectile regression on the data alone, then cloning weighted
// by the advantage.
class Iql final : public Algorithm {
 public:
  Iql(const IqlOptions& options, const AlgorithmContext& context);

  // The schedule is for the actor; value and critics keep their rate.
  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  void visit_state(StateVisitor& state) override;

 private:
  IqlOptions options_;
  Rng explore_rng_;
  IqlNetworks networks_;
  Adam actor_optimizer_, value_optimizer_, critic_optimizer_;
  NoiseBuffer noise_;
};

AlgorithmInfo iql_info();

}  // namespace rl_training
