#include "rl_training/models/perturbation_actor.h"

namespace rl_training {
namespace {

MlpSpec actor_spec(int64_t obs_dim, int64_t action_dim, const PerturbationActor::Options& options) {
  MlpSpec spec;
  spec.inputs = obs_dim + action_dim;
  spec.outputs = action_dim;
  spec.hidden_sizes = options.hidden_sizes;
  spec.output_activation = Activation::tanh;
  return spec;
}

}  // namespace

PerturbationActor::PerturbationActor(int64_t obs_dim, int64_t action_dim, const Options& options,
                                     Rng& rng, const Compute& compute)
    : scale_(options.scale), network_(actor_spec(obs_dim, action_dim, options), rng, compute) {}

torch::Tensor PerturbationActor::actions(const torch::Tensor& obs,
                                         const torch::Tensor& proposed) const {
  const auto change = network_.forward(obs, proposed).squeeze(0);
  return torch::add(proposed, change, scale_).clamp(-1.0, 1.0);
}

PolicyGraph::Value PerturbationActor::describe(PolicyGraph& graph, PolicyGraph::Value obs,
                                               PolicyGraph::Value proposed) const {
  const auto change = network_.describe(graph, graph.concat(obs, proposed));
  return graph.clamp(graph.add(proposed, graph.scale(change, scale_, 0.0)), -1.0, 1.0);
}

}  // namespace rl_training
