#pragma once
#include "rl_training/algorithms/discrete_bc.h"

namespace rl_training {

struct DiscreteBcqOptions : AlgorithmOptions {
  static constexpr const char* kName = "discrete_bcq";
  double bcq_threshold = 0.3;
  double logit_penalty = 0.01;
  double epsilon = 0.05;

  void visit_options(OptionVisitor& options) override;
};

// Keeps the values of actions with G(a|s) > threshold max_b G(b|s) and sets the other values to
// -infinity. G = softmax(logits) is the behaviour model. `values` and `logits` are [rows, choices].
torch::Tensor likely_values(const torch::Tensor& values, const torch::Tensor& logits,
                            double threshold);

// Critic and behaviour model are separate networks. One optimiser minimises the sum of their
// losses.
struct DiscreteBcqLoss {
  CriticLoss critic;
  ImitationLoss imitation;
  torch::Tensor loss;  // sum of both losses

  template <class Visit>
  void metrics(Visit&& visit) const {
    critic.metrics(visit);
    imitation.metrics(visit);
  }
};
DiscreteBcqLoss discrete_bcq_loss(const DiscreteQNetworks& networks, const Mlp& imitation,
                                  const Batch& batch, const DiscreteBcqOptions& options);

// Batch-constrained Q-learning for discrete actions (arXiv:1910.01708): Double DQN restricted to
// actions that are likely in the data.
class DiscreteBcq final : public DiscreteQ {
 public:
  DiscreteBcq(const DiscreteBcqOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override;
  void visit_state(StateVisitor& state) override;

 private:
  torch::Tensor greedy(const torch::Tensor& obs) const override;
  double next_epsilon(int64_t /*rows*/) override { return options_.epsilon; }

  DiscreteBcqOptions options_;
  Mlp imitation_;
  Adam optimizer_;
};

AlgorithmInfoOf<DiscreteBcq, DiscreteBcqOptions> discrete_bcq_info();

}  // namespace rl_training
