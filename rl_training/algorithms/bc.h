#pragma once
#include "rl_training/algorithms/exploration.h"
#include "rl_training/algorithms/log_std_bounds.h"

namespace rl_training {

struct BcOptions : AlgorithmOptions {
  static constexpr const char* kName = "bc";
  enum class Policy { deterministic, gaussian };
  Policy policy = Policy::deterministic;
  LogStdBounds log_std;

  void visit_options(OptionVisitor& options) override;
  BatchRequest request() const override;
  void check() const override { log_std.check(); }
  bool deterministic() const { return policy == Policy::deterministic; }
};

struct BcNetworks {
  BcNetworks(const BcOptions& options, const AlgorithmContext& context, Rng rng);
  GaussianActor actor;
};

struct BcLoss {
  torch::Tensor loss;
  torch::Tensor squared_error;  // of the policy's mean, for deterministic and Gaussian policies

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("actor_loss", loss);
    visit("bc_loss", squared_error);
  }
};
BcLoss bc_loss(const BcNetworks& networks, const Batch& batch, const BcOptions& options);

// Behaviour cloning: supervised learning of the dataset's actions. With the config key
// `dataset_top_fraction`, it clones only the best episodes (%BC).
class Bc final : public Algorithm {
 public:
  Bc(const BcOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override {
    return networks_.actor.describe_mode(graph, obs);
  }
  torch::Tensor log_density(const torch::Tensor& obs, const torch::Tensor& actions) const override {
    if (options_.deterministic()) return {};
    return gaussian_log_prob(networks_.actor.head(obs), actions);
  }
  void visit_state(StateVisitor& state) override;

 private:
  BcOptions options_;
  Explorer explorer_;
  BcNetworks networks_;
  Adam optimizer_;
};

AlgorithmInfoOf<Bc, BcOptions> bc_info();

}  // namespace rl_training
