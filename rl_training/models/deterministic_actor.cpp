#include "rl_training/models/deterministic_actor.h"

namespace rl_training {
namespace {

MlpSpec actor_spec(int64_t obs_dim, int64_t action_dim,
                   const DeterministicActor::Options& options) {
  MlpSpec spec;
  spec.inputs = obs_dim;
  spec.outputs = action_dim;
  spec.hidden_sizes = options.hidden_sizes;
  spec.output_activation = Activation::tanh;
  spec.hidden_init = options.hidden_init;
  spec.output_init = options.output_init;
  return spec;
}

}  // namespace

DeterministicActor::DeterministicActor(int64_t obs_dim, int64_t action_dim, const Options& options,
                                       Rng& rng, const Compute& compute)
    : network_(actor_spec(obs_dim, action_dim, options), rng, compute) {}

}  // namespace rl_training
