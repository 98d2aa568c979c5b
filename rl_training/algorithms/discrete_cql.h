#pragma once
#include "rl_training/algorithms/discrete_q.h"

namespace rl_training {

struct DiscreteCqlOptions : AlgorithmOptions {
  static constexpr const char* kName = "discrete_cql";
  double cql_alpha = 1.0;
  double epsilon = 0.05;

  void visit_options(OptionVisitor& options) override;
};

struct DiscreteCqlLoss {
  torch::Tensor loss, target_q_mean;
  torch::Tensor cql_diff;  // the penalty without its weight

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("critic_loss", loss);
    visit("target_q_mean", target_q_mean);
    visit("cql_diff", cql_diff);
  }
};
DiscreteCqlLoss discrete_cql_loss(const DiscreteQNetworks& networks, const Batch& batch,
                                  double cql_alpha);

// Conservative Q-learning for discrete actions (arXiv:2006.04779): Double DQN with a penalty on the
// values of actions absent from the data.
class DiscreteCql final : public DiscreteQ {
 public:
  DiscreteCql(const DiscreteCqlOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  void visit_state(StateVisitor& state) override;

 private:
  double next_epsilon(int64_t /*rows*/) override { return options_.epsilon; }

  DiscreteCqlOptions options_;
  Adam optimizer_;
};

AlgorithmInfoOf<DiscreteCql, DiscreteCqlOptions> discrete_cql_info();

}  // namespace rl_training
