#pragma once
#include "rl_training/algorithms/actor_critic.h"
#include "rl_training/algorithms/log_std_bounds.h"

namespace rl_training {

struct IqlOptions : AlgorithmOptions {
  static constexpr const char* kName = "iql";
  enum class Policy { gaussian, deterministic };
  double expectile = 0.7;
  double beta = 3.0;
  double max_weight = 100.0;
  Policy policy = Policy::gaussian;
  double exploration_noise = 0.03;
  LogStdBounds log_std;

  void visit_options(OptionVisitor& options) override;
  void check() const override { log_std.check(); }
  bool deterministic() const { return policy == Policy::deterministic; }
};

struct IqlNetworks {
  IqlNetworks(const IqlOptions& options, const AlgorithmContext& context, Rng rng);
  // V(s), [rows].
  torch::Tensor values(const torch::Tensor& obs) const { return value.forward(obs).view({-1}); }
  void visit_state(StateVisitor& state);

  GaussianActor actor;
  Mlp value;
  CriticEnsemble critics, critics_target;
};

// min_i Q'_i(s, a) without gradient, [rows]: what both the value and the actor learn from.
torch::Tensor iql_target_q(const IqlNetworks& networks, const Batch& batch);

struct IqlValueLoss {
  torch::Tensor loss, value_mean;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("value_loss", loss);
    visit("value_mean", value_mean);
  }
};
// `target_q` is that of iql_target_q.
IqlValueLoss iql_value_loss(const IqlNetworks& networks, const Batch& batch,
                            const torch::Tensor& target_q, const IqlOptions& options);
// `target_q` as above.
WeightedCloningLoss iql_actor_loss(const IqlNetworks& networks, const Batch& batch,
                                   const torch::Tensor& target_q, const IqlOptions& options);
CriticLoss iql_critic_loss(const IqlNetworks& networks, const Batch& batch);

// IQL (arXiv:2110.06169): values by expectile regression on the data alone, then cloning weighted
// by the advantage.
class Iql final : public Algorithm {
 public:
  Iql(const IqlOptions& options, const AlgorithmContext& context);

  // The schedule is for the actor; value and critics keep their rate.
  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override {
    return networks_.actor.describe_mode(graph, obs);
  }
  torch::Tensor log_density(const torch::Tensor& obs, const torch::Tensor& actions) const override {
    if (options_.deterministic()) return {};
    return gaussian_log_prob(networks_.actor.head(obs), actions);
  }
  torch::Tensor values(const torch::Tensor& obs, const torch::Tensor& actions) const override {
    return least_value(networks_.critics, obs, actions);
  }
  void visit_state(StateVisitor& state) override;

 private:
  IqlOptions options_;
  Explorer explorer_;
  IqlNetworks networks_;
  Adam actor_optimizer_, value_optimizer_, critic_optimizer_;
};

AlgorithmInfo iql_info();

}  // namespace rl_training
