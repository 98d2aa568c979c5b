#include "rl_training/algorithms/dqn.h"

#include <algorithm>

namespace rl_training {

void DqnOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.flag("double_q", double_q,
               "the trained network selects the next action and the target network evaluates it; "
               "false: the target network does both");
  options.number("epsilon_start", epsilon_start, between(0, 1),
                 "probability of a random action at the first step after learning_starts");
  options.number("epsilon_end", epsilon_end, between(0, 1), "final probability of a random action");
  options.integer("epsilon_steps", epsilon_steps, at_least(0),
                  "environment steps over which it changes linearly");
  environment.visit_options(options);
}

double DqnOptions::epsilon(int64_t step) const {
  return linear_change(epsilon_start, epsilon_end, epsilon_steps, step);
}

// With double_q: y = r + gamma (1 - d) Q'(s', argmax_a Q(s', a))
// Without double_q: y = r + gamma (1 - d) max_a Q'(s', a)
CriticLoss dqn_loss(const DiscreteQNetworks& networks, const Batch& batch, bool double_q) {
  torch::Tensor next;
  {
    const torch::NoGradGuard no_grad;
    next = double_q ? double_q_choices(networks, batch)
                    : choice_values(networks.critics_target, batch.next_obs()).argmax(1);
  }
  return discrete_td_loss(networks, batch, next).critic;
}

Dqn::Dqn(const DqnOptions& options, const AlgorithmContext& context)
    : DiscreteQ(options, context),
      options_(options),
      processes_(process_count(context.compute.processes)),
      optimizer_(networks_.critics, options.critic_adam(), context.compute) {}

Metrics Dqn::update(const Batch& batch, double lr_scale) {
  const auto loss = dqn_loss(networks_, batch, options_.double_q);
  minimize(loss.loss, optimizer_, lr_scale);
  networks_.critics_target.polyak_from(networks_.critics, options_.tau);
  return metrics_of(loss);
}

double Dqn::next_epsilon(int64_t rows) {
  const double epsilon = options_.epsilon(explored_);
  explored_ += rows * processes_;
  return epsilon;
}

void Dqn::visit_state(StateVisitor& state) {
  DiscreteQ::visit_state(state);
  state.part("critic_optimizer", optimizer_);
  state.scalar("explored", explored_);
}

AlgorithmInfoOf<Dqn, DqnOptions> dqn_info() {
  return algorithm_info<Dqn, DqnOptions>({.name = DqnOptions::kName,
                                          .title = "DQN: deep Q-learning for discrete actions",
                                          .paper = "arXiv:1509.06461",
                                          .actions = ActionKind::choices,
                                          .metrics = metric_names_of<CriticLoss>()});
}

}  // namespace rl_training
