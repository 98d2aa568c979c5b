#include "rl_training/algorithms/discrete_q.h"

#include "rl_training/models/losses.h"

namespace rl_training {

MlpSpec choice_spec(const AlgorithmOptions& options, const AlgorithmContext& context,
                    int64_t members) {
  MlpSpec spec;
  spec.inputs = context.obs_dim();
  spec.outputs = context.action.categories;
  spec.hidden_sizes = options.hidden_sizes;
  spec.members = members;
  return spec;
}

torch::Tensor choice_values(const Mlp& network, const torch::Tensor& obs) {
  return network.forward(obs).squeeze(0);
}

torch::Tensor values_of(const torch::Tensor& values, const torch::Tensor& choices) {
  auto shape = values.sizes().vec();
  shape.back() = 1;
  return values.gather(-1, choices.unsqueeze(-1).expand(shape)).squeeze(-1);
}

// The first action whose cumulative probability exceeds the draw. The result is clamped, because
// rounding may leave the last sum slightly below 1.
torch::Tensor draw_choices(const torch::Tensor& log_probs, const torch::Tensor& uniform) {
  const auto passed = log_probs.exp().cumsum(1).le(uniform).sum(1);
  return passed.clamp_max(log_probs.size(1) - 1);
}

torch::Tensor conservative_difference(const torch::Tensor& values, const torch::Tensor& chosen) {
  return (values.logsumexp(-1) - chosen).mean();
}

DiscreteQNetworks::DiscreteQNetworks(const AlgorithmOptions& options,
                                     const AlgorithmContext& context, Rng rng)
    : critics(choice_spec(options, context), rng, context.compute), critics_target(critics) {}

void DiscreteQNetworks::visit_state(StateVisitor& state) {
  state.part("critics", critics);
  state.part("critics_target", critics_target);
}

// y = r + gamma (1 - d) Q'(s', a');  L = mean huber(Q(s, a) - y)
DiscreteTdLoss discrete_td_loss(const DiscreteQNetworks& networks, const Batch& batch,
                                const torch::Tensor& next_choices) {
  torch::Tensor target;
  {
    const torch::NoGradGuard no_grad;
    const auto next = choice_values(networks.critics_target, batch.next_obs());
    target = td_target(batch.rewards(), batch.discount(), values_of(next, next_choices));
  }
  DiscreteTdLoss result;
  result.values = choice_values(networks.critics, batch.obs());
  result.chosen = values_of(result.values, batch.actions());
  result.critic = {torch::huber_loss(result.chosen, target), mean_of(target)};
  return result;
}

torch::Tensor double_q_choices(const DiscreteQNetworks& networks, const Batch& batch) {
  const torch::NoGradGuard no_grad;
  return choice_values(networks.critics, batch.next_obs()).argmax(1);
}

torch::Tensor EpsilonGreedy::explore(const torch::Tensor& greedy, int64_t choices, double epsilon) {
  auto result = greedy.clone();
  auto* choice = result.data_ptr<int64_t>();
  for (int64_t i = 0; i < result.numel(); ++i) {
    if (rng_.uniform() >= epsilon) continue;
    choice[i] = static_cast<int64_t>(rng_.below(static_cast<uint64_t>(choices)));
  }
  return result;
}

DiscreteQ::DiscreteQ(const AlgorithmOptions& options, const AlgorithmContext& context)
    : networks_(options, context, Rng(context.seed, "init")), explorer_(context.own_seed()) {}

torch::Tensor DiscreteQ::greedy(const torch::Tensor& obs) const {
  return choice_values(networks_.critics, obs).argmax(1);
}

torch::Tensor DiscreteQ::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  const torch::NoGradGuard no_grad;
  auto best = greedy(obs);
  if (mode == ActMode::greedy) return best;
  return explorer_.explore(best, networks_.critics.outputs(), next_epsilon(obs.size(0)));
}

PolicyGraph::Value DiscreteQ::describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const {
  return graph.argmax(networks_.critics.describe(graph, obs));
}

torch::Tensor DiscreteQ::values(const torch::Tensor& obs, const torch::Tensor& actions) const {
  const torch::NoGradGuard no_grad;
  return values_of(choice_values(networks_.critics, obs), actions);
}

void DiscreteQ::visit_state(StateVisitor& state) {
  networks_.visit_state(state);
  explorer_.visit_state(state);
}

}  // namespace rl_training
