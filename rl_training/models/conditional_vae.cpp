#include "rl_training/models/conditional_vae.h"

namespace rl_training {
namespace {

MlpSpec vae_spec(int64_t inputs, int64_t outputs, const ConditionalVae::Options& options) {
  MlpSpec spec;
  spec.inputs = inputs;
  spec.outputs = outputs;
  spec.hidden_sizes = options.hidden_sizes;
  return spec;
}

int64_t latent_dim_of(const ConditionalVae::Options& options, int64_t action_dim) {
  return options.latent_dim > 0 ? options.latent_dim : 2 * action_dim;
}

}  // namespace

ConditionalVae::ConditionalVae(int64_t obs_dim, int64_t action_dim, const Options& options,
                               Rng& rng, const Compute& compute)
    : options_(options),
      latent_dim_(latent_dim_of(options, action_dim)),
      encoder_(vae_spec(obs_dim + action_dim, 2 * latent_dim_, options), rng, compute),
      decoder_(vae_spec(obs_dim + latent_dim_, action_dim, options), rng, compute) {}

GaussianHead ConditionalVae::encode(const torch::Tensor& obs, const torch::Tensor& actions) const {
  GaussianHead head;
  head.output = encoder_.forward(obs, actions).squeeze(0);
  head.log_std_min = options_.log_std_min;
  head.log_std_max = options_.log_std_max;
  head.squash = false;
  return head;
}

torch::Tensor ConditionalVae::decode_unbounded(const torch::Tensor& obs,
                                               const torch::Tensor& latents) const {
  return decoder_.forward(obs, latents).squeeze(0);
}

// L = mse(decode(s, mu + sigma e), a) + kl_weight KL
// KL = -1/2 mean (1 + log sigma^2 - mu^2 - sigma^2), where means are over the batch and dimensions
ConditionalVae::Terms ConditionalVae::loss(const torch::Tensor& obs, const torch::Tensor& actions,
                                           const torch::Tensor& noise, double kl_weight) const {
  const auto head = encode(obs, actions);
  const auto latents = gaussian_sample(head, noise).actions;
  const auto log_variance = 2.0 * head.output.narrow(1, latent_dim_, latent_dim_)
                                      .clamp(options_.log_std_min, options_.log_std_max);
  Terms terms;
  terms.reconstruction = torch::mse_loss(decode(obs, latents), actions);
  terms.kl = -0.5 * (1.0 + log_variance - head.mean().square() - log_variance.exp()).mean();
  terms.loss = terms.reconstruction + kl_weight * terms.kl;
  return terms;
}

std::vector<torch::Tensor> ConditionalVae::parameters() const {
  return {encoder_.parameters(), decoder_.parameters()};
}

void ConditionalVae::visit_state(StateVisitor& state) {
  state.part("encoder", encoder_);
  state.part("decoder", decoder_);
}

}  // namespace rl_training
