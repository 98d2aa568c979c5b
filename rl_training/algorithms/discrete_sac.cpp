#include "rl_training/algorithms/discrete_sac.h"

#include <cmath>

namespace rl_training {
namespace {

// The paper's target entropy, as a fraction of the entropy of the uniform distribution.
constexpr double kEntropyShare = 0.98;
constexpr int64_t kTwins = 2;

}  // namespace

void DiscreteSacOptions::visit_options(OptionVisitor& options) {
  // Does not call SoftOptions::visit_options, which always visits the collection keys; collection
  // is optional here.
  AlgorithmOptions::visit_options(options);  // NOLINT(bugprone-parent-virtual-call)
  visit_temperature_options(options);
  options.number("cql_alpha", cql_alpha, at_least(0),
                 "weight of CQL's penalty on the values of actions absent from the data");
  options.choice("learn_from", learn_from,
                 {{"environment", Source::environment}, {"data", Source::data}},
                 "source of the transitions; total_timesteps counts environment steps, or updates "
                 "on a dataset");
  if (learn_from == Source::environment) environment.visit_options(options);
}

CollectOptions* DiscreteSacOptions::collect() {
  return learn_from == Source::environment ? &environment : nullptr;
}

std::vector<PhaseSpec> DiscreteSacOptions::phases(int64_t total_timesteps) const {
  return learn_from == Source::environment
             ? SoftOptions::phases(total_timesteps)
             : AlgorithmOptions::phases(total_timesteps);  // NOLINT(bugprone-parent-virtual-call)
}

DiscreteSacNetworks::DiscreteSacNetworks(const DiscreteSacOptions& options,
                                         const AlgorithmContext& context, Rng rng)
    : actor(choice_spec(options, context, 1), rng, context.compute),
      critics(choice_spec(options, context, kTwins), rng, context.compute),
      critics_target(critics) {}

torch::Tensor DiscreteSacNetworks::log_probs(const torch::Tensor& obs) const {
  return actor.forward(obs).squeeze(0).log_softmax(1);
}

// V(s) = sum_a pi(a|s) (min_i Q_i(s, a) - alpha log pi(a|s))
torch::Tensor discrete_soft_value(const torch::Tensor& log_probs, const torch::Tensor& values,
                                  const torch::Tensor& alpha) {
  return (log_probs.exp() * (values.amin(0) - alpha * log_probs)).sum(1);
}

// y = r + gamma (1 - d) V'(s');  L = sum_i mean huber(Q_i(s, a) - y)
//   + cql_alpha sum_i mean (log sum_b exp Q_i(s, b) - Q_i(s, a))
DiscreteSacCriticLoss discrete_sac_critic_loss(const DiscreteSacNetworks& networks,
                                               const Batch& batch, const torch::Tensor& alpha,
                                               double cql_alpha) {
  torch::Tensor target;
  {
    const torch::NoGradGuard no_grad;
    const auto next_value =
        discrete_soft_value(networks.log_probs(batch.next_obs()),
                            networks.critics_target.forward(batch.next_obs()), alpha);
    target = td_target(batch.rewards(), batch.discount(), next_value);
  }
  const auto values = networks.critics.forward(batch.obs());
  const auto chosen = values_of(values, batch.actions());
  const auto members = static_cast<double>(values.size(0));
  DiscreteSacCriticLoss result;
  result.loss = torch::huber_loss(chosen, target.expand_as(chosen)) * members;
  result.target_q_mean = mean_of(target);
  if (cql_alpha > 0) {
    result.cql_diff = conservative_difference(values, chosen);
    result.loss = result.loss + cql_alpha * members * result.cql_diff;
  } else {
    result.cql_diff = conservative_difference(values.detach(), chosen.detach());
  }
  return result;
}

// L = mean sum_a pi(a|s) (alpha log pi(a|s) - min_i Q_i(s, a)), without gradient through Q
SoftPolicyLoss discrete_sac_actor_loss(const DiscreteSacNetworks& networks, const Batch& batch,
                                       const torch::Tensor& alpha) {
  torch::Tensor values;
  {
    const torch::NoGradGuard no_grad;
    values = networks.critics.forward(batch.obs());
  }
  const auto log_probs = networks.log_probs(batch.obs());
  SoftPolicyLoss result;
  result.loss = -discrete_soft_value(log_probs, values, alpha).mean();
  const auto known = log_probs.detach();
  result.entropy = -(known.exp() * known).sum(1).mean();
  return result;
}

TemperatureGoal discrete_sac_goal(const DiscreteSacOptions& options, int64_t choices) {
  auto goal = options.goal(kEntropyShare * std::log(static_cast<double>(choices)));
  goal.scaled_loss = true;
  return goal;
}

DiscreteSac::DiscreteSac(const DiscreteSacOptions& options, const AlgorithmContext& context)
    : options_(options),
      explore_rng_(context.own_seed(), "explore/policy"),
      networks_(options, context, Rng(context.seed, "init")),
      actor_optimizer_(networks_.actor, {.learning_rate = options.learning_rate}, context.compute),
      critic_optimizer_(networks_.critics, {.learning_rate = options.learning_rate},
                        context.compute),
      temperature_(options, discrete_sac_goal(options, context.action.categories),
                   options.learning_rate, context.compute) {}

Metrics DiscreteSac::update(const Batch& batch, double lr_scale) {
  const auto& alpha = temperature_.value();
  const auto critic = discrete_sac_critic_loss(networks_, batch, alpha, options_.cql_alpha);
  minimize(critic.loss, critic_optimizer_, lr_scale);
  networks_.critics_target.polyak_from(networks_.critics, options_.tau);

  const auto actor = discrete_sac_actor_loss(networks_, batch, alpha);
  minimize(actor.loss, actor_optimizer_, lr_scale);
  return metrics_of(critic, actor, temperature_.update(actor.entropy));
}

torch::Tensor DiscreteSac::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  const torch::NoGradGuard no_grad;
  const auto log_probs = networks_.log_probs(obs);
  if (mode == ActMode::greedy) return log_probs.argmax(1);
  return draw_choices(log_probs, explore_noise_.uniform(explore_rng_, {obs.size(0), 1}, 0, 1));
}

PolicyGraph::Value DiscreteSac::describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const {
  return graph.argmax(networks_.actor.describe(graph, obs));
}

torch::Tensor DiscreteSac::values(const torch::Tensor& obs, const torch::Tensor& actions) const {
  const torch::NoGradGuard no_grad;
  const auto all = networks_.critics.forward(obs, {}, {}).amin(0);  // [rows, choices]
  return values_of(all, actions);
}

void DiscreteSac::visit_state(StateVisitor& state) {
  state.part("actor", networks_.actor);
  state.part("critics", networks_.critics);
  state.part("critics_target", networks_.critics_target);
  state.part("actor_optimizer", actor_optimizer_);
  state.part("critic_optimizer", critic_optimizer_);
  state.part("alpha", temperature_);
  state.part("explore_rng", explore_rng_);
}

AlgorithmInfoOf<DiscreteSac, DiscreteSacOptions> discrete_sac_info() {
  return algorithm_info<DiscreteSac, DiscreteSacOptions>(
      {.name = DiscreteSacOptions::kName,
       .title = "Discrete SAC: soft actor-critic for discrete actions",
       .paper = "arXiv:1910.07207",
       .actions = ActionKind::choices,
       .metrics = metric_names_of<DiscreteSacCriticLoss, SoftPolicyLoss, TemperatureLoss>()});
}

}  // namespace rl_training
