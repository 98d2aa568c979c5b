#pragma once
#include "rl_training/algorithms/discrete_q.h"

namespace rl_training {

struct DqnOptions : AlgorithmOptions {
  static constexpr const char* kName = "dqn";
  bool double_q = true;
  double epsilon_start = 1.0, epsilon_end = 0.05;
  int64_t epsilon_steps = 10000;
  CollectOptions environment{.learning_starts = 1000};

  CollectOptions* collect() override { return &environment; }
  std::vector<PhaseSpec> phases(int64_t total_timesteps) const override {
    return replay_phases(environment, total_timesteps);
  }
  void visit_options(OptionVisitor& options) override;
  // Probability of a random action after `step` environment steps with the epsilon-greedy policy.
  double epsilon(int64_t step) const;
};

CriticLoss dqn_loss(const DiscreteQNetworks& networks, const Batch& batch, bool double_q);

// Deep Q-learning with a target network (Mnih et al., Nature 518, 2015). The default target is that
// of Double DQN (arXiv:1509.06461).
class Dqn final : public DiscreteQ {
 public:
  Dqn(const DqnOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  void visit_state(StateVisitor& state) override;

 private:
  double next_epsilon(int64_t rows) override;

  DqnOptions options_;
  int64_t processes_;
  Adam optimizer_;
  int64_t explored_ = 0;  // environment steps of all processes with the epsilon-greedy policy
};

AlgorithmInfoOf<Dqn, DqnOptions> dqn_info();

}  // namespace rl_training
