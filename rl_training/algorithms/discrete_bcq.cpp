#include "rl_training/algorithms/discrete_bcq.h"

#include <cmath>
#include <limits>

namespace rl_training {
namespace {

// The behaviour model has its own random stream, so that its initial weights differ from the
// critic's.
Mlp make_imitation(const DiscreteBcqOptions& options, const AlgorithmContext& context) {
  Rng rng(context.seed, "init/imitation");
  return Mlp(choice_spec(options, context), rng, context.compute);
}

}  // namespace

void DiscreteBcqOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.number("bcq_threshold", bcq_threshold, strictly_between(0, 1),
                 "an action is considered if its probability exceeds this fraction of the most "
                 "likely action's");
  options.number("logit_penalty", logit_penalty, at_least(0),
                 "weight of the mean squared logit of the behaviour model");
  options.number("epsilon", epsilon, between(0, 1),
                 "probability of a random action while collecting online");
}

torch::Tensor likely_values(const torch::Tensor& values, const torch::Tensor& logits,
                            double threshold) {
  const auto unlikely = (logits - logits.amax(1, true)).le(std::log(threshold));
  return values.masked_fill(unlikely, -std::numeric_limits<float>::infinity());
}

// a' = argmax of Q(s', .) over the actions that likely_values keeps
// y = r + gamma (1 - d) Q'(s', a')
// L = mean huber(Q(s, a) - y) - mean log G(a|s) + logit_penalty mean l(s)^2
// with the behaviour model G and its logits l(s)
DiscreteBcqLoss discrete_bcq_loss(const DiscreteQNetworks& networks, const Mlp& imitation,
                                  const Batch& batch, const DiscreteBcqOptions& options) {
  torch::Tensor next;
  {
    const torch::NoGradGuard no_grad;
    next = likely_values(choice_values(networks.critics, batch.next_obs()),
                         choice_values(imitation, batch.next_obs()), options.bcq_threshold)
               .argmax(1);
  }
  DiscreteBcqLoss result;
  result.critic = discrete_td_loss(networks, batch, next).critic;
  result.imitation =
      imitation_loss(choice_values(imitation, batch.obs()), batch.actions(), options.logit_penalty);
  result.loss = result.critic.loss + result.imitation.loss;
  return result;
}

DiscreteBcq::DiscreteBcq(const DiscreteBcqOptions& options, const AlgorithmContext& context)
    : DiscreteQ(options, context),
      options_(options),
      imitation_(make_imitation(options, context)),
      optimizer_({networks_.critics.parameters(), imitation_.parameters()}, options.critic_adam(),
                 context.compute) {}

Metrics DiscreteBcq::update(const Batch& batch, double lr_scale) {
  const auto loss = discrete_bcq_loss(networks_, imitation_, batch, options_);
  minimize(loss.loss, optimizer_, lr_scale);
  networks_.critics_target.polyak_from(networks_.critics, options_.tau);
  return metrics_of(loss);
}

torch::Tensor DiscreteBcq::greedy(const torch::Tensor& obs) const {
  return likely_values(choice_values(networks_.critics, obs), choice_values(imitation_, obs),
                       options_.bcq_threshold)
      .argmax(1);
}

PolicyGraph::Value DiscreteBcq::describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const {
  const auto values = networks_.critics.describe(graph, obs);
  const auto logits = imitation_.describe(graph, obs);
  return graph.argmax(graph.likely(values, logits, std::log(options_.bcq_threshold)));
}

void DiscreteBcq::visit_state(StateVisitor& state) {
  DiscreteQ::visit_state(state);
  state.part("imitation", imitation_);
  state.part("optimizer", optimizer_);
}

AlgorithmInfoOf<DiscreteBcq, DiscreteBcqOptions> discrete_bcq_info() {
  return algorithm_info<DiscreteBcq, DiscreteBcqOptions>(
      {.name = DiscreteBcqOptions::kName,
       .title = "Discrete BCQ: batch-constrained Q-learning for discrete actions",
       .paper = "arXiv:1910.01708",
       .actions = ActionKind::choices,
       .metrics = metric_names_of<DiscreteBcqLoss>()});
}

}  // namespace rl_training
