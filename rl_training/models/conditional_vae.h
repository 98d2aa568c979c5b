#pragma once
#include "rl_training/models/gaussian.h"
#include "rl_training/models/mlp.h"

namespace rl_training {

// A variational autoencoder of actions given observations: the behaviour model of BCQ and BEAR.
class ConditionalVae {
 public:
  struct Options {
    int64_t latent_dim = 0;  // 0: twice the action dimension
    std::vector<int64_t> hidden_sizes = {750, 750};
    double log_std_min = -4.0, log_std_max = 15.0;
    double latent_clip = 0.5;  // bound of latents drawn from the prior
  };

  ConditionalVae(int64_t obs_dim, int64_t action_dim, const Options& options, Rng& rng,
                 const Compute& compute);

  // The normal distribution of the latent [rows, latent_dim] for each observation and its action.
  GaussianHead encode(const torch::Tensor& obs, const torch::Tensor& actions) const;
  // [rows, action_dim], before tanh.
  torch::Tensor decode_unbounded(const torch::Tensor& obs, const torch::Tensor& latents) const;
  // [rows, action_dim], mapped into [-1, 1] by tanh.
  torch::Tensor decode(const torch::Tensor& obs, const torch::Tensor& latents) const {
    return decode_unbounded(obs, latents).tanh();
  }
  // Latents for generating actions: standard normal noise, clipped to +-latent_clip.
  torch::Tensor prior_latents(const torch::Tensor& noise) const {
    return noise.clamp(-options_.latent_clip, options_.latent_clip);
  }

  // For export: decode(obs, prior_latents(noise)) with constant noise [rows, latent_dim]. `obs` has
  // the same number of rows.
  PolicyGraph::Value describe(PolicyGraph& graph, PolicyGraph::Value obs,
                              PolicyGraph::Value noise) const {
    const auto latents = graph.clamp(noise, -options_.latent_clip, options_.latent_clip);
    return graph.tanh(decoder_.describe(graph, graph.concat(obs, latents)));
  }

  struct Terms {
    torch::Tensor loss, reconstruction, kl;
  };
  // `noise` is standard normal, [rows, latent_dim].
  Terms loss(const torch::Tensor& obs, const torch::Tensor& actions, const torch::Tensor& noise,
             double kl_weight) const;

  int64_t latent_dim() const { return latent_dim_; }
  Mlp& encoder() { return encoder_; }
  Mlp& decoder() { return decoder_; }
  // All leaves to optimise.
  std::vector<torch::Tensor> parameters() const;
  void visit_state(StateVisitor& state);

 private:
  Options options_;
  int64_t latent_dim_;
  Mlp encoder_, decoder_;
};

}  // namespace rl_training
