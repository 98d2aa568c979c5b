#include "rl_training/algorithms/discrete_bc.h"

namespace rl_training {
namespace {

Mlp make_actor(const DiscreteBcOptions& options, const AlgorithmContext& context) {
  Rng rng(context.seed, "init");
  return Mlp(choice_spec(options, context), rng, context.compute);
}

}  // namespace

void DiscreteBcOptions::visit_options(OptionVisitor& options) {
  visit_supervised_options(options);
  options.number("logit_penalty", logit_penalty, at_least(0),
                 "weight of the mean squared logit, which keeps the policy stochastic");
}

BatchRequest DiscreteBcOptions::request() const {
  auto request = AlgorithmOptions::request();
  request.columns = {BatchColumn::obs, BatchColumn::action};
  return request;
}

// L = -mean log softmax(l(s))_a + logit_penalty mean l(s)^2 with the logits l(s)
ImitationLoss imitation_loss(const torch::Tensor& logits, const torch::Tensor& choices,
                             double logit_penalty) {
  ImitationLoss result;
  result.likelihood = -values_of(logits.log_softmax(1), choices).mean();
  result.loss = result.likelihood + logit_penalty * logits.square().mean();
  return result;
}

DiscreteBc::DiscreteBc(const DiscreteBcOptions& options, const AlgorithmContext& context)
    : options_(options),
      explore_rng_(context.own_seed(), "explore/policy"),
      actor_(make_actor(options, context)),
      optimizer_(actor_, options.actor_adam(), context.compute) {}

Metrics DiscreteBc::update(const Batch& batch, double lr_scale) {
  const auto loss =
      imitation_loss(choice_values(actor_, batch.obs()), batch.actions(), options_.logit_penalty);
  minimize(loss.loss, optimizer_, lr_scale);
  return metrics_of(loss);
}

torch::Tensor DiscreteBc::log_probs(const torch::Tensor& obs) const {
  const torch::NoGradGuard no_grad;
  return choice_values(actor_, obs).log_softmax(1);
}

torch::Tensor DiscreteBc::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  const auto known = log_probs(obs);
  if (mode == ActMode::greedy) return known.argmax(1);
  return draw_choices(known, explore_noise_.uniform(explore_rng_, {obs.size(0), 1}, 0, 1));
}

PolicyGraph::Value DiscreteBc::describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const {
  return graph.argmax(actor_.describe(graph, obs));
}

torch::Tensor DiscreteBc::log_density(const torch::Tensor& obs,
                                      const torch::Tensor& actions) const {
  return values_of(log_probs(obs), actions);
}

void DiscreteBc::visit_state(StateVisitor& state) {
  state.part("actor", actor_);
  state.part("optimizer", optimizer_);
  state.part("explore_rng", explore_rng_);
}

AlgorithmInfoOf<DiscreteBc, DiscreteBcOptions> discrete_bc_info() {
  return algorithm_info<DiscreteBc, DiscreteBcOptions>(
      {.name = DiscreteBcOptions::kName,
       .title = "Discrete BC: behaviour cloning of discrete actions",
       .paper = "",
       .actions = ActionKind::choices,
       .metrics = metric_names_of<ImitationLoss>()});
}

}  // namespace rl_training
