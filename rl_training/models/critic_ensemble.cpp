#include "rl_training/models/critic_ensemble.h"

namespace rl_training {
namespace {

MlpSpec critic_spec(int64_t obs_dim, int64_t action_dim, const CriticEnsemble::Options& options) {
  MlpSpec spec;
  spec.inputs = obs_dim + action_dim;
  spec.outputs = options.outputs;
  spec.hidden_sizes = options.hidden_sizes;
  spec.activation = options.activation;
  spec.layer_norm = options.layer_norm;
  spec.layer_norm_eps = options.layer_norm_eps;
  spec.hidden_init = options.hidden_init;
  spec.output_init = options.output_init;
  spec.members = options.count;
  return spec;
}

}  // namespace

CriticEnsemble::CriticEnsemble(int64_t obs_dim, int64_t action_dim, const Options& options,
                               Rng& rng, const Compute& compute)
    : network_(std::make_unique<Mlp>(critic_spec(obs_dim, action_dim, options), rng, compute)) {}

torch::Tensor CriticEnsemble::values(const torch::Tensor& obs, const torch::Tensor& actions,
                                     Use use, Mode mode) const {
  const std::array<int64_t, 2> shape = {network_->members(), obs.size(0)};
  return network_->forward(obs, actions, {.use = use, .mode = mode, .shape = shape});
}

torch::Tensor CriticEnsemble::distributions(const torch::Tensor& obs, const torch::Tensor& actions,
                                            Use use) const {
  return network_->forward(obs, actions, {.use = use});
}

torch::Tensor CriticEnsemble::first_value(const torch::Tensor& obs, const torch::Tensor& actions,
                                          Use use) const {
  const std::array<int64_t, 1> shape = {obs.size(0)};
  return network_->forward(obs, actions, {.use = use, .members = 1, .shape = shape});
}

}  // namespace rl_training
