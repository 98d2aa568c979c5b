#pragma once
#include "rl_training/algorithms/actor_critic.h"
#include "rl_training/algorithms/log_std_bounds.h"

namespace rl_training {

struct AwacOptions : AlgorithmOptions {
  static constexpr const char* kName = "awac";
  enum class WeightNormalization { clip, softmax };
  AwacOptions() { hidden_sizes = {256, 256, 256}; }
  double awac_lambda = 1.0 / 3.0;
  double max_weight = 100.0;
  WeightNormalization weight_normalization = WeightNormalization::clip;
  LogStdBounds log_std = {-20.0, 2.0};

  void visit_options(OptionVisitor& options) override;
  void check() const override { log_std.check(); }
};

struct AwacNetworks : GaussianNetworks {
  AwacNetworks(const AwacOptions& options, const AlgorithmContext& context, Rng rng);
};

// Weight of each row, computed from its advantage: [rows] -> [rows], without gradient.
torch::Tensor awac_weights(const torch::Tensor& advantage, const AwacOptions& options);

// `noise` is standard normal, [rows, action_dim].
CriticLoss awac_critic_loss(const AwacNetworks& networks, const Batch& batch,
                            const torch::Tensor& noise);
// `noise` is standard normal, [rows, action_dim].
WeightedCloningLoss awac_actor_loss(const AwacNetworks& networks, const Batch& batch,
                                    const torch::Tensor& noise, const AwacOptions& options);

// AWAC (arXiv:2006.09359): an actor-critic whose actor clones actions weighted by their advantage.
class Awac final : public ActorCritic<AwacOptions, AwacNetworks> {
 public:
  using ActorCritic::ActorCritic;

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override {
    return networks_.actor.describe_mode(graph, obs);
  }
  torch::Tensor log_density(const torch::Tensor& obs, const torch::Tensor& actions) const override {
    return gaussian_log_prob(networks_.actor.head(obs), actions);
  }

 private:
  NoiseBuffer noise_;
};

AlgorithmInfoOf<Awac, AwacOptions> awac_info();

}  // namespace rl_training
