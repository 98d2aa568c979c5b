#include "rl_training/algorithms/bcq.h"

#include "rl_training/models/losses.h"

namespace rl_training {

BcqOptions::BcqOptions() {
  batch_size = 100;
  hidden_sizes = {400, 300};
  learning_rate = 1e-3;
}

void BcqOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.number("perturbation_scale", perturbation_scale, above(0),
                 "largest change of a proposed action, in action units of [-1, 1]");
  options.integer("num_action_samples", num_action_samples, between(1, 1 << 14),
                  "candidate actions for each next state in the critics' target");
  options.integer("eval_action_samples", eval_action_samples, between(1, 1 << 14),
                  "candidate actions for each observation when acting");
  options.number("lambda_min", lambda_min, between(0, 1),
                 "share of the smaller critic in the target, the rest is the larger one's");
  options.integer("latent_dim", latent_dim, between(1, 1 << 14),
                  "width of the behaviour model's latent; null: twice the action dimension");
  options.number("latent_clip", latent_clip, above(0),
                 "bound of the latents that actions are proposed from");
  options.number("vae_kl_weight", vae_kl_weight, at_least(0),
                 "weight of the KL term in the behaviour model's loss");
  options.integers("vae_hidden_sizes", vae_hidden_sizes, between(1, 1 << 14),
                   "widths of the hidden layers of the behaviour model");
  options.number("vae_learning_rate", vae_learning_rate, above(0),
                 "Adam step size of the behaviour model");
}

BcqNetworks::BcqNetworks(const BcqOptions& options, const AlgorithmContext& context, Rng rng)
    : vae(context.obs_dim(), context.action_dim(),
          {.latent_dim = options.latent_dim.value_or(0),
           .hidden_sizes = options.vae_hidden_sizes,
           .latent_clip = options.latent_clip},
          rng, context.compute),
      actor(context.obs_dim(), context.action_dim(),
            {.hidden_sizes = options.hidden_sizes, .scale = options.perturbation_scale}, rng,
            context.compute),
      actor_target(actor),
      critics(context.obs_dim(), context.action_dim(), {.hidden_sizes = options.hidden_sizes}, rng,
              context.compute),
      critics_target(critics) {}

// L = mse(dec(s, mu + sigma e), a) + w KL(N(mu, sigma) | N(0, 1)), (mu, sigma) = enc(s, a)
Loss bcq_vae_loss(const BcqNetworks& networks, const Batch& batch, const BcqNoise& noise,
                  const BcqOptions& options) {
  return behavior_vae_loss(networks.vae, batch, noise.encoder, options.vae_kl_weight);
}

// a_j = xi'(s', dec(s', clip(e_j, +-c))), then y and L of candidate_critic_loss
Loss bcq_critic_loss(const BcqNetworks& networks, const Batch& batch, const BcqNoise& noise,
                     const BcqOptions& options) {
  torch::Tensor next_actions;
  {
    const torch::NoGradGuard no_grad;
    const auto obs = repeat_rows(batch.next_obs(), options.num_action_samples);
    const auto latents = networks.vae.prior_latents(noise.next_latents);
    next_actions = networks.actor_target.actions(obs, networks.vae.decode(obs, latents));
  }
  return candidate_critic_loss({networks.critics, networks.critics_target, options.lambda_min},
                               batch, next_actions);
}

// L = -mean Q_1(s, xi(s, c)), c = dec(s, clip(e, +-c)) without gradient
Loss bcq_actor_loss(const BcqNetworks& networks, const Batch& batch, const BcqNoise& noise) {
  torch::Tensor proposed;
  {
    const torch::NoGradGuard no_grad;
    proposed = networks.vae.decode(batch.obs(), networks.vae.prior_latents(noise.latents));
  }
  const auto actions = networks.actor.actions(batch.obs(), proposed);
  Loss result;
  result.loss = -networks.critics.first_value(batch.obs(), actions, Use::frozen).mean();
  result.metrics.set("actor_loss", result.loss);
  return result;
}

Loss bcq_loss(const BcqNetworks& networks, const Batch& batch, const BcqNoise& noise,
              const BcqOptions& options) {
  auto result = bcq_vae_loss(networks, batch, noise, options);
  const auto critic = bcq_critic_loss(networks, batch, noise, options);
  const auto actor = bcq_actor_loss(networks, batch, noise);
  result.loss = result.loss + critic.loss + actor.loss;
  result.metrics.append(critic.metrics);
  result.metrics.append(actor.metrics);
  return result;
}

Bcq::Bcq(const BcqOptions& options, const AlgorithmContext& context)
    : options_(options),
      rng_(context.seed, "policy"),
      explore_rng_(context.seed, "explore/policy"),
      networks_(options, context, Rng(context.seed, "init")),
      vae_optimizer_(networks_.vae.parameters(), {.learning_rate = options.vae_learning_rate},
                     context.compute),
      critic_optimizer_(networks_.critics.network(), {.learning_rate = options.learning_rate},
                        context.compute),
      actor_optimizer_(networks_.actor.network(), {.learning_rate = options.learning_rate},
                       context.compute) {}

Metrics Bcq::update(const Batch& batch, double lr_scale) {
  const int64_t rows = batch.obs().size(0), latent_dim = networks_.vae.latent_dim();
  BcqNoise noise;
  noise.encoder = encoder_noise_.normal(rng_, {rows, latent_dim});
  noise.next_latents =
      next_latent_noise_.normal(rng_, {rows * options_.num_action_samples, latent_dim});
  noise.latents = latent_noise_.normal(rng_, {rows, latent_dim});

  auto vae = bcq_vae_loss(networks_, batch, noise, options_);
  minimize(vae.loss, vae_optimizer_, lr_scale);
  const auto critic = bcq_critic_loss(networks_, batch, noise, options_);
  minimize(critic.loss, critic_optimizer_, lr_scale);
  const auto actor = bcq_actor_loss(networks_, batch, noise);
  minimize(actor.loss, actor_optimizer_, lr_scale);
  networks_.critics_target.network().polyak_from(networks_.critics.network(), options_.tau);
  networks_.actor_target.network().polyak_from(networks_.actor.network(), options_.tau);
  vae.metrics.append(critic.metrics);
  vae.metrics.append(actor.metrics);
  return vae.metrics;
}

torch::Tensor Bcq::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  CandidatePolicy policy;
  policy.count = options_.eval_action_samples;
  policy.noise_dim = networks_.vae.latent_dim();
  policy.propose = [this](const torch::Tensor& rows, const torch::Tensor& noise) {
    const auto repeated = repeat_rows(rows, options_.eval_action_samples);
    const auto latents = networks_.vae.prior_latents(noise);
    return networks_.actor.actions(repeated, networks_.vae.decode(repeated, latents));
  };
  return best_candidates(policy, networks_.critics, obs,
                         mode == ActMode::explore ? &explore_rng_ : nullptr);
}

void Bcq::visit_state(StateVisitor& state) {
  state.part("vae", networks_.vae);
  state.part("actor", networks_.actor);
  state.part("actor_target", networks_.actor_target);
  state.part("critics", networks_.critics);
  state.part("critics_target", networks_.critics_target);
  state.part("vae_optimizer", vae_optimizer_);
  state.part("critic_optimizer", critic_optimizer_);
  state.part("actor_optimizer", actor_optimizer_);
  state.part("policy_rng", rng_);
  state.part("explore_rng", explore_rng_);
}

AlgorithmInfo bcq_info() {
  return algorithm_info<Bcq, BcqOptions>(
      {.name = BcqOptions::kName,
       .title = "BCQ: batch-constrained Q-learning over proposed actions",
       .paper = "arXiv:1812.02900",
       .metrics = {"vae_loss", "reconstruction_loss", "kl_loss", "critic_loss", "target_q_mean",
                   "candidate_q_mean", "actor_loss"}});
}

}  // namespace rl_training
