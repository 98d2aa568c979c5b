#pragma once
#include <array>

#include "rl_training/algorithms/actor_critic.h"
#include "rl_training/algorithms/log_std_bounds.h"

namespace rl_training {

// Options that IQL and XQL share; `policy` and `exploration_noise` are config keys of IQL only.
// Both algorithms learn values at dataset actions, and have an actor that clones these actions,
// weighted by their advantage.
struct ImplicitOptions : AlgorithmOptions {
  enum class Policy { gaussian, deterministic };
  double beta = 3.0;
  double max_weight = 100.0;
  Policy policy = Policy::gaussian;
  double exploration_noise = 0.03;  // used by a deterministic policy
  LogStdBounds log_std;

  void check() const override { log_std.check(); }
  bool deterministic() const { return policy == Policy::deterministic; }

 protected:
  void visit_weight_options(OptionVisitor& options);
};

struct IqlOptions : ImplicitOptions {
  static constexpr const char* kName = "iql";
  double expectile = 0.7;

  void visit_options(OptionVisitor& options) override;
};

struct IqlNetworks {
  // `value_norm` applies to the hidden layers of the value network.
  IqlNetworks(const ImplicitOptions& options, const AlgorithmContext& context, Rng rng,
              LayerNorm value_norm = LayerNorm::none);
  // V(s), [rows].
  torch::Tensor values(const torch::Tensor& obs) const {
    const std::array<int64_t, 1> shape = {obs.size(0)};
    return value.forward(obs, {}, {.shape = shape});
  }
  void visit_state(StateVisitor& state);

  GaussianActor actor;
  Mlp value;
  CriticEnsemble critics, critics_target;
};

// min_i Q'_i(s, a) without gradient: [rows]. The value loss and the actor loss both use it.
torch::Tensor iql_target_q(const IqlNetworks& networks, const Batch& batch);

struct IqlValueLoss {
  torch::Tensor loss, value_mean;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("value_loss", loss);
    visit("value_mean", value_mean);
  }
};
// `target_q` is the result of iql_target_q.
IqlValueLoss iql_value_loss(const IqlNetworks& networks, const Batch& batch,
                            const torch::Tensor& target_q, const IqlOptions& options);
// `target_q` is the result of iql_target_q.
WeightedCloningLoss iql_actor_loss(const IqlNetworks& networks, const Batch& batch,
                                   const torch::Tensor& target_q, const ImplicitOptions& options);
// r + gamma (1 - d) V(s') without gradient, [rows].
torch::Tensor iql_target(const IqlNetworks& networks, const Batch& batch);
CriticLoss iql_critic_loss(const IqlNetworks& networks, const Batch& batch);

// Base class of IQL and XQL. An update steps the value network, the actor and the critics once
// each, then updates the target critics. The derived class defines the losses of the value network
// and the critics.
class ImplicitQ : public Algorithm {
 public:
  ImplicitQ(const ImplicitOptions& options, const AlgorithmContext& context,
            LayerNorm value_norm = LayerNorm::none);

  // The learning-rate schedule applies to the actor only. The learning rates of the value network
  // and the critics are constant.
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

 protected:
  virtual IqlValueLoss value_loss(const Batch& batch, const torch::Tensor& target_q) = 0;
  virtual CriticLoss critic_loss(const Batch& batch) = 0;
  const IqlNetworks& networks() const { return networks_; }

 private:
  ImplicitOptions options_;
  Explorer explorer_;
  IqlNetworks networks_;
  Adam actor_optimizer_, value_optimizer_, critic_optimizer_;
};

// Names of the metrics of IQL and XQL, in order.
std::vector<std::string> implicit_metrics();

// IQL (arXiv:2110.06169): learns values by expectile regression on dataset actions, and a policy by
// cloning with advantage weights.
class Iql final : public ImplicitQ {
 public:
  Iql(const IqlOptions& options, const AlgorithmContext& context)
      : ImplicitQ(options, context), options_(options) {}

 protected:
  IqlValueLoss value_loss(const Batch& batch, const torch::Tensor& target_q) override {
    return iql_value_loss(networks(), batch, target_q, options_);
  }
  CriticLoss critic_loss(const Batch& batch) override { return iql_critic_loss(networks(), batch); }

 private:
  IqlOptions options_;
};

AlgorithmInfoOf<Iql, IqlOptions> iql_info();

}  // namespace rl_training
