#pragma once
#include "rl_training/algorithms/discrete_q.h"

namespace rl_training {

struct DiscreteBcOptions : AlgorithmOptions {
  static constexpr const char* kName = "discrete_bc";
  double logit_penalty = 0.01;

  void visit_options(OptionVisitor& options) override;
  BatchRequest request() const override;
};

// Loss of a classifier of dataset actions, computed from its logits [rows, choices]. Discrete BCQ
// also uses this loss.
struct ImitationLoss {
  torch::Tensor loss;
  torch::Tensor likelihood;  // the negative log-likelihood without the penalty

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("actor_loss", loss);
    visit("bc_loss", likelihood);
  }
};
ImitationLoss imitation_loss(const torch::Tensor& logits, const torch::Tensor& choices,
                             double logit_penalty);

// Behaviour cloning of discrete actions.
class DiscreteBc final : public Algorithm {
 public:
  DiscreteBc(const DiscreteBcOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override;
  torch::Tensor log_density(const torch::Tensor& obs, const torch::Tensor& actions) const override;
  void visit_state(StateVisitor& state) override;

 private:
  torch::Tensor log_probs(const torch::Tensor& obs) const;

  DiscreteBcOptions options_;
  Rng explore_rng_;
  Mlp actor_;
  Adam optimizer_;
  NoiseBuffer explore_noise_;
};

AlgorithmInfoOf<DiscreteBc, DiscreteBcOptions> discrete_bc_info();

}  // namespace rl_training
