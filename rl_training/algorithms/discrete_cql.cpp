#include "rl_training/algorithms/discrete_cql.h"

namespace rl_training {

void DiscreteCqlOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.number("cql_alpha", cql_alpha, at_least(0),
                 "weight of the penalty on the values of actions absent from the data");
  options.number("epsilon", epsilon, between(0, 1),
                 "probability of a random action while collecting online");
}

// L = mean huber(Q(s, a) - y) + cql_alpha mean (log sum_b exp Q(s, b) - Q(s, a))
// with Double DQN's y = r + gamma (1 - d) Q'(s', argmax_a Q(s', a))
DiscreteCqlLoss discrete_cql_loss(const DiscreteQNetworks& networks, const Batch& batch,
                                  double cql_alpha) {
  const auto td = discrete_td_loss(networks, batch, double_q_choices(networks, batch));
  DiscreteCqlLoss result;
  result.target_q_mean = td.critic.target_q_mean;
  result.cql_diff = conservative_difference(td.values, td.chosen);
  result.loss = td.critic.loss + cql_alpha * result.cql_diff;
  return result;
}

DiscreteCql::DiscreteCql(const DiscreteCqlOptions& options, const AlgorithmContext& context)
    : DiscreteQ(options, context),
      options_(options),
      optimizer_(networks_.critics, options.critic_adam(), context.compute) {}

Metrics DiscreteCql::update(const Batch& batch, double lr_scale) {
  const auto loss = discrete_cql_loss(networks_, batch, options_.cql_alpha);
  minimize(loss.loss, optimizer_, lr_scale);
  networks_.critics_target.polyak_from(networks_.critics, options_.tau);
  return metrics_of(loss);
}

void DiscreteCql::visit_state(StateVisitor& state) {
  DiscreteQ::visit_state(state);
  state.part("critic_optimizer", optimizer_);
}

AlgorithmInfoOf<DiscreteCql, DiscreteCqlOptions> discrete_cql_info() {
  return algorithm_info<DiscreteCql, DiscreteCqlOptions>(
      {.name = DiscreteCqlOptions::kName,
       .title = "Discrete CQL: conservative Q-learning for discrete actions",
       .paper = "arXiv:2006.04779",
       .actions = ActionKind::choices,
       .metrics = metric_names_of<DiscreteCqlLoss>()});
}

}  // namespace rl_training
